import Glibc

/// A file descriptor with one owner: closed when its owner lets go of it.
package struct Descriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Takes over an open descriptor.
    package init(adopting number: Int32) {
        precondition(number >= 0, "a descriptor is open")
        self.number = number
    }

    deinit {
        // Linux gives the number back even when close() reports an error, so there is nothing to repeat.
        _ = close(number)
    }

    /// Gives the descriptor back without closing it.
    @discardableResult
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// Makes calls on this descriptor return at once, `EAGAIN` where they would wait.
    borrowing func becomeNonBlocking() throws(SystemError) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0 else { throw .last }
    }
}

/// What became of a call on a non-blocking descriptor.
enum Transfer {
    /// This many bytes were moved; 0 on reading: the peer has sent its last.
    case bytes(Int)
    /// Nothing now; the poller tells when.
    case wouldBlock
    case failed(SystemError)

    /// Makes `call`, again whenever a signal interrupted it.
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
