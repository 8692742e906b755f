import CLinux
package import Core
import Glibc

/// A system thread with a name and a stack size.
package struct Thread: Sendable {
    /// For a worker: librabbitmq recurses once per level of a nested table; this suffices for the largest frame.
    package static let workerStackSize = 16 * 1024 * 1024
    /// Linux truncates thread names to this length, in bytes.
    package static let longestName = 15

    private let handle: pthread_t

    /// Runs `body` on a new thread, which must be joined or detached.
    ///
    /// - Parameter stackSize: In bytes, a multiple of the page size.
    package static func start(
        name: String, stackSize: Int = workerStackSize, _ body: sending @escaping () -> Void
    ) throws(EventLoopError) -> Thread {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        let sized = unsafe pthread_attr_setstacksize(&attributes, stackSize)
        precondition(sized == 0, "a stack has at least 16 KiB")

        let start = unsafe Unmanaged.passRetained(
            Handoff {
                let short = String(decoding: name.utf8.prefix(longestName), as: UTF8.self)
                // The name is only for diagnostics, so a failure does not matter.
                _ = unsafe pthread_setname_np(pthread_self(), short)
                body()
            })
        var handle = pthread_t()
        let result = unsafe pthread_create(
            &handle, &attributes,
            { start in
                unsafe Unmanaged<Handoff<() -> Void>>.fromOpaque(start!).takeRetainedValue().take()?()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw EventLoopError("cannot start the thread \(name)", SystemError(number: result))
        }
        return Thread(handle: handle)
    }

    /// Waits until the thread has ended, at most until a deadline.
    ///
    /// - Returns: `false` if it has not ended by then: it must still be joined or detached.
    package func join(until deadline: Instant) -> Bool {
        // Uses the wall clock, although it may jump: the thread sanitizer does not know the call for another clock, and
        // would treat the thread as running for ever.
        let now = SystemClock.now()
        let (seconds, attoseconds) = max(.zero, deadline - now.instant).components
        // Both values are truncated to milliseconds, so 2 ms prevent an early deadline.
        let end = now.wall.milliseconds + seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 2
        var time = timespec(tv_sec: Int(end / 1000), tv_nsec: Int(end % 1000) * 1_000_000)
        let result = unsafe pthread_timedjoin_np(handle, nil, &time)
        precondition(result == 0 || result == ETIMEDOUT, "a thread is joined once, and not by itself")
        return result == 0
    }

    /// Detaches the thread: it is never joined.
    package func detach() {
        let result = pthread_detach(handle)
        precondition(result == 0, "a thread is detached once")
    }
}
