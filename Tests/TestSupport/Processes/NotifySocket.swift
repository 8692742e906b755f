import Glibc
import System

/// The service manager's end of sd_notify(3): a socket in a private folder, or one with an abstract name.
package final class NotifySocket {
    /// The value for `NOTIFY_SOCKET`.
    package let name: String
    private let descriptor: Descriptor
    private let directory: TemporaryDirectory?
    private var read: [String] = []

    package init(isAbstract: Bool = false) throws {
        let directory = isAbstract ? nil : try TemporaryDirectory()
        self.directory = directory
        name = directory?.file("notify") ?? "@harebell-test-\(UInt64.random(in: 0 ... .max))"
        let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw TestSupportError("socket: errno \(errno)") }
        descriptor = Descriptor(adopting: number)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = isAbstract ? [0] + name.utf8.dropFirst() : Array(name.utf8)
        guard path.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            throw TestSupportError("\(name) is too long for a socket: a shorter TMPDIR is needed")
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(number, $0, length) }
        }
        guard result == 0 else { throw TestSupportError("cannot bind \(name): errno \(errno)") }
    }

    /// Every message so far, the oldest first.
    package func messages() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe recv(descriptor.number, &buffer, buffer.count, 0)
            guard count >= 0 else { return read }
            read.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }
}
