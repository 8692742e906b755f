import CLinux
import Glibc

/// An eventfd: a counter that one thread increments to wake another.
struct EventDescriptor: ~Copyable, Sendable {
    enum Waiting {
        /// For a loop: reading never blocks.
        case byLoop
        /// For a dedicated thread: reading blocks until the counter is incremented.
        case byThread
    }

    private let descriptor: Descriptor

    init(_ waiting: Waiting) throws(SystemError) {
        let mode = waiting == .byLoop ? EFD_NONBLOCK : 0
        let number = eventfd(0, Int32(EFD_CLOEXEC | mode))
        guard number >= 0 else { throw .last }
        descriptor = Descriptor(adopting: number)
    }

    var number: Int32 {
        descriptor.number
    }

    /// Wakes the waiting loop or thread.
    borrowing func raise() {
        let result = eventfd_write(number, 1)
        // The counter holds 2^64 - 2 wake-ups; beyond that the reader is already awake.
        precondition(result == 0 || errno == EAGAIN, "an open eventfd takes a wake-up")
    }

    /// Consumes all wake-ups so far.
    borrowing func lower() {
        var count: eventfd_t = 0
        while unsafe eventfd_read(number, &count) != 0 {
            guard errno == EINTR else { return }
        }
    }
}
