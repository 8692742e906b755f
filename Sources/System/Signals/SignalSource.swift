import CLinux
import Core
import Glibc

/// Signals as events of a loop, by signalfd.
///
/// Every thread must block a signal for the source to receive it. Call ``block(_:)`` before the first thread starts;
/// threads inherit the mask.
package final class SignalSource {
    private let descriptor: Descriptor
    private let handler: (Int32) -> Void

    /// Delivers `signals` to `handler` for the lifetime of the loop, and blocks them on this thread.
    ///
    /// A signal that is raised again before the loop has read it is delivered once: signals are not queued.
    package init(loop: EventLoop, signals: [Int32], handler: @escaping (_ signal: Int32) -> Void) throws(EventLoopError)
    {
        Self.block(signals)
        var set = Self.set(of: signals)
        let number = unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        guard number >= 0 else { throw EventLoopError("cannot receive signals", .last) }
        descriptor = Descriptor(adopting: number)
        self.handler = handler
        _ = try loop.register(descriptor: number, interest: .readable) { [self] _, _ in deliver() }
    }

    /// Blocks `signals` in this thread and the threads that it starts.
    package static func block(_ signals: [Int32]) {
        mask(SIG_BLOCK, signals)
    }

    /// Ends ``block(_:)`` in this thread: the signals have their usual effect.
    package static func unblock(_ signals: [Int32]) {
        mask(SIG_UNBLOCK, signals)
    }

    private static func mask(_ how: Int32, _ signals: [Int32]) {
        var set = set(of: signals)
        let result = unsafe pthread_sigmask(how, &set, nil)
        precondition(result == 0, "the mask of signals takes valid arguments")
    }

    /// Ignores SIGPIPE: a write to a closed socket or pipe fails with `EPIPE` instead of ending the process.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    private func deliver() {
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while case .bytes(size) = Transfer.of({ unsafe read(descriptor.number, &information, size) }) {
            handler(Int32(information.ssi_signo))
        }
    }

    private static func set(of signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals {
            let result = unsafe sigaddset(&set, signal)
            precondition(result == 0, "\(signal) is a signal's number")
        }
        return set
    }
}
