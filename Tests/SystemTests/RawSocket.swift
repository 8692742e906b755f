import Core
import Glibc

@testable import System

/// A socket without an engine, for peers that behave in ways no engine does.
final class RawSocket {
    private var descriptor: Descriptor?

    private init(_ descriptor: consuming Descriptor) {
        self.descriptor = consume descriptor
    }

    /// Connected to a port of the loopback address; non-blocking.
    static func connected(to port: UInt16, receiveBuffer: Int32? = nil) throws -> RawSocket {
        let address = try loopback(port)
        let descriptor = try Descriptor.socket(family: address.family)
        if let receiveBuffer { try descriptor.set(SO_RCVBUF, of: SOL_SOCKET, to: receiveBuffer) }
        try descriptor.connect(to: address)
        return RawSocket(descriptor)
    }

    static func listening(backlog: Int32) throws -> RawSocket {
        let address = try loopback(0)
        let descriptor = try Descriptor.socket(family: address.family)
        try descriptor.bind(to: address)
        try descriptor.listen(backlog: backlog)
        return RawSocket(descriptor)
    }

    /// A port of the loopback address without a listener.
    static func unusedPort() throws -> UInt16 {
        try listening(backlog: 1).port
    }

    private static func loopback(_ port: UInt16) throws -> SocketAddress {
        guard let address = AddressLookup.numeric(Endpoint(host: "127.0.0.1", port: port)) else {
            throw SystemError(number: EINVAL)
        }
        return address
    }

    var port: UInt16 {
        SocketAddress(ofSocket: descriptor!)?.endpoint.port ?? 0
    }

    /// Everything readable now, at most `limit` bytes; `isOver` once the peer has sent its last.
    func read(upTo limit: Int = 65_536) -> (bytes: [UInt8], isOver: Bool, error: SystemError?) {
        let buffer = ReadBuffer(size: limit)
        var bytes: [UInt8] = []
        switch buffer.fill(from: descriptor!) {
        case .bytes(0): return ([], true, nil)
        case .bytes(let count): buffer.withBytes(count) { bytes.append($0) }
        case .wouldBlock: break
        case .failed(let error): return ([], false, error)
        }
        return (bytes, false, nil)
    }

    func write(_ bytes: [UInt8]) -> Bool {
        if case .bytes(bytes.count) = descriptor!.send(bytes.span) { true } else { false }
    }

    func close() {
        descriptor = nil
    }

    /// Limits the kernel's buffer for the peer of any socket; Linux doubles the size and has its own limits.
    static func setSendBuffer(of number: Int32, to size: Int32) throws {
        let descriptor = Descriptor(adopting: number)
        let result = Result { () throws(SystemError) in try descriptor.set(SO_SNDBUF, of: SOL_SOCKET, to: size) }
        descriptor.release()
        try result.get()
    }

    /// Makes closing reset the connection.
    func resetOnClose() throws { try descriptor!.resetOnClose() }
}

extension Descriptor {
    fileprivate borrowing func resetOnClose() throws(SystemError) {
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        guard unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &option, size) == 0 else { throw .last }
    }
}
