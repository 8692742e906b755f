import CLinux
import Core
import Glibc

/// Calls on sockets; every socket is non-blocking and close-on-exec.
extension Descriptor {
    static func socket(family: Int32, type: UInt32 = SOCK_STREAM.rawValue) throws(SystemError) -> Descriptor {
        let number = Glibc.socket(family, Int32(type | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw .last }
        return Descriptor(adopting: number)
    }

    /// Starts to connect; the socket becomes writable at the end, and ``connectError()`` returns the result.
    borrowing func connect(to address: SocketAddress) throws(SystemError) {
        let number = self.number
        let result = unsafe address.withPointer { unsafe Glibc.connect(number, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw .last }
    }

    /// The result of ``connect(to:)`` after the socket became ready; `nil` if it is connected.
    borrowing func connectError() -> SystemError? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &value, &size) == 0 else { return .last }
        if value != 0 { return SystemError(number: value) }
        // A connect to an unused local port may choose that port as its source, and TCP then connects the socket to
        // itself.
        let isConnectedToItself = SocketAddress(ofSocket: self)?.endpoint == SocketAddress(ofPeer: self)?.endpoint
        return isConnectedToItself ? SystemError(number: ECONNREFUSED) : nil
    }

    borrowing func set(_ option: Int32, of level: Int32, to value: Int32) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe setsockopt(number, level, option, &value, size) == 0 else { throw .last }
    }

    borrowing func bind(to address: SocketAddress) throws(SystemError) {
        let number = self.number
        guard unsafe address.withPointer({ unsafe Glibc.bind(number, $0, $1) }) == 0 else { throw .last }
    }

    borrowing func listen(backlog: Int32) throws(SystemError) {
        guard Glibc.listen(number, backlog) == 0 else { throw .last }
    }

    borrowing func accept() throws(SystemError) -> Descriptor {
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let accepted = accept4(number, nil, nil, flags)
        guard accepted >= 0 else { throw .last }
        return Descriptor(adopting: accepted)
    }

    /// Sends as much as the socket accepts now.
    borrowing func send(_ bytes: Span<UInt8>) -> Transfer {
        let number = self.number
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            Transfer.of { unsafe Glibc.send(number, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
        }
    }

    /// Ends the output; reading continues.
    borrowing func endOutput() {
        // Fails only if the connection is already lost, which reading reports.
        _ = shutdown(number, Int32(SHUT_WR))
    }
}

/// The memory into which all connections of a network read, one at a time.
@safe
final class ReadBuffer {
    let size: Int
    private let base: UnsafeMutablePointer<UInt8>

    init(size: Int) {
        self.size = size
        unsafe base = .allocate(capacity: size)
    }

    deinit {
        unsafe base.deallocate()
    }

    /// Reads once from a socket or a pipe; the bytes stay in the buffer until the next read.
    func fill(from descriptor: borrowing Descriptor) -> Transfer {
        let number = descriptor.number
        return Transfer.of { unsafe Glibc.read(number, base, size) }
    }

    func withBytes(_ count: Int, _ body: (Span<UInt8>) -> Void) {
        precondition(count <= size, "cannot lend more bytes than the buffer has")
        unsafe body(Span(_unsafeStart: UnsafePointer(base), count: count))
    }
}
