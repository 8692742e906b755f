import Glibc

/// A file descriptor with one owner, closed at the end of its lifetime.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    package init(adopting number: Int32) {
        precondition(number >= 0, "a descriptor must be open")
        self.number = number
    }

    deinit {
        // Linux releases the descriptor even if close() reports an error, so it must not be repeated.
        _ = close(number)
    }

    /// Returns the descriptor without closing it.
    @discardableResult
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Makes the descriptor non-blocking: calls return `EAGAIN` instead of waiting.
    borrowing func becomeNonBlocking() throws(SystemError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0 else { throw .last }
    }
}

/// The result of a call on a non-blocking descriptor.
enum Transfer {
    /// The number of bytes; 0 when reading means the end of the input.
    case bytes(Int)
    /// Nothing was transferred; the poller reports when to repeat the call.
    case wouldBlock
    case failed(SystemError)

    /// Makes `call`, and repeats it if a signal interrupts it.
    @inline(__always)
    static func of(_ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(.last)
            }
        }
    }
}
