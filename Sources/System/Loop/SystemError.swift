import CLinux
package import Core
import Glibc

struct SystemError: Error, Equatable {
    let number: Int32

    static var last: SystemError {
        SystemError(number: errno)
    }

    /// The errno constant's name, such as `ECONNREFUSED`.
    var name: String {
        guard let name = unsafe strerrorname_np(number) else { return "errno \(number)" }
        return unsafe String(cString: name)
    }

    /// The system's message, such as "Connection refused".
    var explanation: String {
        guard let text = unsafe strerrordesc_np(number) else { return "Unknown error \(number)" }
        return unsafe String(cString: text)
    }
}

/// Why a loop, a thread or a listener does not work: always limits or set-up of this machine. The code is the name of
/// the errno constant: `EMFILE`, `EADDRINUSE` …
package typealias EventLoopError = ComponentFailure<EventLoop>

extension EventLoopError {
    /// Descriptors, memory and ports may become available later; a wrong address is permanent.
    private static var transientNumbers: Set<Int32> {
        [EADDRINUSE, EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC]
    }

    /// For a C library that reports its error in `errno`; 0 means that it reported none, and counts as a lack of
    /// memory.
    package init(_ attempt: String, errno number: Int32) {
        self.init(attempt, SystemError(number: number == 0 ? ENOMEM : number))
    }

    init(_ attempt: String, _ error: SystemError) {
        self.init(
            Code(rawValue: error.name), "\(attempt): \(error.explanation)",
            isTransient: Self.transientNumbers.contains(error.number))
    }
}
