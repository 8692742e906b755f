package import Core
package import Glibc

/// An IPv4 or IPv6 address with a port, in the form of the socket calls.
package struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage: sockaddr_storage
    private let length: socklen_t

    init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// The address that a socket is bound to; `nil` for sockets of other families than IPv4 and IPv6.
    init?(ofSocket descriptor: borrowing Descriptor) {
        unsafe self.init(descriptor) { unsafe getsockname($0, $1, $2) }
    }

    /// The address of a socket's peer; `nil` if there is none.
    package init?(ofPeer descriptor: borrowing Descriptor) {
        unsafe self.init(descriptor) { unsafe getpeername($0, $1, $2) }
    }

    /// Copies an address that a library keeps; `nil` for other families than IPv4 and IPv6.
    @unsafe
    package init?(_ address: UnsafePointer<sockaddr>) {
        let size =
            switch unsafe Int32(address.pointee.sa_family) {
            case AF_INET: MemoryLayout<sockaddr_in>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: 0
            }
        guard size > 0 else { return nil }
        storage = sockaddr_storage()
        length = socklen_t(size)
        unsafe withUnsafeMutableBytes(of: &storage) { storage in
            unsafe storage.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size))
        }
    }

    private init?(
        _ descriptor: borrowing Descriptor,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let number = descriptor.number
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call(number, $0, &length) }
        }
        guard result == 0 else { return nil }
        self.init(storage: storage, length: length)
        guard family == AF_INET || family == AF_INET6 else { return nil }
    }

    /// `AF_INET` or `AF_INET6`.
    var family: Int32 {
        Int32(storage.ss_family)
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }

    package var endpoint: Endpoint {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let flags = NI_NUMERICHOST | NI_NUMERICSERV
        let result = unsafe withPointer { address, length in
            unsafe getnameinfo(
                address, length, &host, socklen_t(host.count), &service, socklen_t(service.count), flags)
        }
        precondition(result == 0, "an internet address has digits")
        return Endpoint(host: Self.text(host), port: UInt16(Self.text(service)) ?? 0)
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package var description: String { endpoint.description }
}
