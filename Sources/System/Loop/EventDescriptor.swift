import CLinux
import Glibc

/// An eventfd: a counter that a thread increments to wake a loop. Reading never blocks.
struct EventDescriptor: ~Copyable, Sendable {
    private let descriptor: Descriptor

    init() throws(SystemError) {
        let number = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard number >= 0 else { throw .last }
        descriptor = Descriptor(adopting: number)
    }

    var number: Int32 {
        descriptor.number
    }

    borrowing func raise() {
        let result = eventfd_write(number, 1)
        // The counter holds 2^64 - 2 wake-ups; beyond that the reader is already awake.
        precondition(result == 0 || errno == EAGAIN, "an open eventfd takes a wake-up")
    }

    borrowing func lower() {
        var count: eventfd_t = 0
        // It does not wait, so that no signal interrupts it.
        _ = unsafe eventfd_read(number, &count)
    }
}
