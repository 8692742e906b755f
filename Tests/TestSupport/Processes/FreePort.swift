import Glibc
import Synchronization

/// The ports that ``freePort()`` has returned in this process.
private let handedOut = Mutex<Set<UInt16>>([])

/// A TCP port of 127.0.0.1 without a listener, a different one at each call.
///
/// The kernel picks such ports at random and may repeat one; ports returned before are skipped. Another process may
/// take the port before it is used, so callers must handle a port in use.
package func freePort() throws -> UInt16 {
    while true {
        let port = try unusedPort()
        if handedOut.withLock({ $0.insert(port).inserted }) { return port }
    }
}

/// A TCP port of 127.0.0.1 without a listener, as the kernel picks it.
private func unusedPort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw TestSupportError("socket: errno \(errno)") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
            let bound = unsafe bind(descriptor, generic, length)
            return bound == 0 ? unsafe getsockname(descriptor, generic, &length) : bound
        }
    }
    guard result == 0 else { throw TestSupportError("no free port: errno \(errno)") }
    return UInt16(bigEndian: address.sin_port)
}
