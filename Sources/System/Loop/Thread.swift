import CLinux
package import Core
import Glibc

/// A thread of the system with a name and a stack of a chosen size.
package struct Thread: Sendable {
    /// For a worker: librabbitmq recurses once per level of a nested header table, and this survives the largest frame.
    package static let workerStackSize = 16 * 1024 * 1024
    /// Linux cuts a thread's name here, in bytes.
    package static let longestName = 15

    private let handle: pthread_t

    /// Runs `body` on a new thread. It is to be joined, or else detached.
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

        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        var handle = pthread_t()
        let result = unsafe pthread_create(
            &handle, &attributes,
            { argument in
                unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw EventLoopError("cannot start the thread \(name)", SystemError(number: result))
        }
        return Thread(handle: handle)
    }

    /// Waits for the thread's end.
    package func join() {
        let result = pthread_join(handle, nil)
        precondition(result == 0, "a thread is joined once, and not by itself")
    }

    /// Waits for the thread's end, but not beyond a deadline.
    ///
    /// - Returns: `false` if it has not ended by then: it is still to be joined or detached.
    package func join(until deadline: Instant) -> Bool {
        // By the wall clock, though it may jump: the thread sanitizer does not know of the call that takes another
        // clock, and holds the thread to be there for ever.
        let now = SystemClock.now()
        let (seconds, attoseconds) = max(.zero, deadline - now.instant).components
        // Both sums are cut to whole milliseconds, and the deadline must not come early.
        let end = now.wall.milliseconds + seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 2
        var time = timespec(tv_sec: Int(end / 1000), tv_nsec: Int(end % 1000) * 1_000_000)
        let result = unsafe pthread_timedjoin_np(handle, nil, &time)
        precondition(result == 0 || result == ETIMEDOUT, "a thread is joined once, and not by itself")
        return result == 0
    }

    /// Lets the thread end by itself.
    package func detach() {
        let result = pthread_detach(handle)
        precondition(result == 0, "a thread is detached once")
    }

    /// What the new thread is given.
    private final class Start {
        let name: String
        let body: () -> Void

        init(name: String, body: @escaping () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            let short = String(decoding: name.utf8.prefix(Thread.longestName), as: UTF8.self)
            // A name only helps whoever looks at the process; a thread without one works as well.
            _ = unsafe pthread_setname_np(pthread_self(), short)
            body()
        }
    }
}
