import CLinux
package import Core
import Glibc

/// The service manager that started this process and requested notifications: one datagram to a Unix socket per state.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3).
package struct ServiceManager: Sendable {
    package enum State: Equatable, Sendable {
        /// Started, or reloaded.
        case ready
        /// Reloading its configuration since a time on `CLOCK_MONOTONIC`; ``ready`` follows.
        case reloading(since: Instant)
        case stopping
        /// The watchdog's keep-alive.
        case alive

        var message: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let instant): "RELOADING=1\nMONOTONIC_USEC=\(instant.nanoseconds / 1000)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }
    }

    /// The time without ``State/alive`` after which it restarts the process; `nil` if it does not.
    package let watchdog: Duration?
    private let address: SocketAddress

    /// - Parameter environment: returns the value of a variable, `nil` if it is not set.
    /// - Returns: `nil` without a receiver: `NOTIFY_SOCKET` is not set, or is neither a path nor an abstract name
    ///   (`@…`) of a Unix socket.
    package init?(
        environment: (String) -> String? = { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    ) {
        guard let address = environment("NOTIFY_SOCKET").flatMap(SocketAddress.init(unixSocket:)) else { return nil }
        self.address = address
        let isMeant = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let microseconds = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// - Throws: the system's error if the notification cannot be sent.
    package func notify(_ state: State) throws(EventLoopError) {
        do throws(SystemError) {
            try send(Array(state.message.utf8))
        } catch {
            throw EventLoopError("cannot notify the service manager of \(state.message.prefix { $0 != "=" })", error)
        }
    }

    private func send(_ message: [UInt8]) throws(SystemError) {
        let descriptor = try Descriptor.socket(family: AF_UNIX, type: SOCK_DGRAM.rawValue)
        try descriptor.connect(to: address)
        switch descriptor.send(message.span) {
        case .bytes: return
        case .wouldBlock: throw SystemError(number: EAGAIN)
        case .failed(let error): throw error
        }
    }
}

extension SocketAddress {
    /// The offset of the path in `sockaddr_un`.
    private static let pathOffset = MemoryLayout<sa_family_t>.size

    /// - Parameter name: an absolute path, or `@` and an abstract name; `nil` for anything else, and for names longer
    ///   than `sockaddr_un` can hold.
    init?(unixSocket name: String) {
        var path = Array(name.utf8)
        guard let first = path.first, path.count > 1, path.count < MemoryLayout<sockaddr_un>.size - Self.pathOffset
        else { return nil }
        switch first {
        case UInt8(ascii: "/"): break
        case UInt8(ascii: "@"): path[0] = 0
        default: return nil
        }
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[Self.pathOffset...]).copyBytes(from: path)
        }
        self.init(storage: storage, length: socklen_t(Self.pathOffset + path.count))
    }
}
