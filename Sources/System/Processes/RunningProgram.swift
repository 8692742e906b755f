import Core
import Glibc

/// One process from its start to its end: connects its engine and its socket.
///
/// The engine gets the end once, after the process has ended and all its output was read.
final class RunningProgram: Engine {
    private let process: ProgramProcess
    private(set) var engine: (any ProgramEngine)?
    private unowned let host: ProgramRunner
    private var endWatch: Registration?
    private var errorWatch: Registration?
    private var ending: TransportError?
    private var isOutputOver = false
    /// When the process is killed, or the wait for its remaining output ends.
    private(set) var deadline: Instant?

    init(_ program: Program, _ engine: any ProgramEngine, _ host: ProgramRunner) throws(SystemError) {
        var socket: Descriptor?
        process = try ProgramProcess(program, socket: &socket)
        self.engine = engine
        self.host = host
        do throws(SystemError) {
            endWatch = try host.loop.watch(process.end.number, .readable) { [unowned self] in processEnded(at: $1) }
            errorWatch = try host.loop.watch(process.errors.number, .readable) { [unowned self] in readErrors(at: $1) }
        } catch {
            release()
            kill()
            throw error
        }
        guard let socket = socket.take() else { preconditionFailure("a started process has a socket") }
        host.network.adopt(socket, self)
    }

    func stop(within grace: Duration, at now: Moment) {
        guard ending == nil else { return }
        guard grace > .zero else { return ProgramProcess.signal(group: process.id, SIGKILL) }
        ProgramProcess.signal(group: process.id, SIGTERM)
        deadline = min(deadline ?? .distantFuture, now.instant + grace)
    }

    func deadlinePassed(at now: Moment) {
        guard let due = deadline, due <= now.instant else { return }
        deadline = nil
        if ending == nil {
            ProgramProcess.signal(group: process.id, SIGKILL)
        } else {
            host.network.disconnect(self)
            isOutputOver = true
            finishIfOver(at: now.instant)
        }
    }

    /// For use without a running loop.
    func kill() {
        guard ending == nil else { return }
        ProgramProcess.signal(group: process.id, SIGKILL)
        process.awaitEnd()
        _ = ProgramProcess.reap(process.id)
    }

    private func processEnded(at now: Moment) {
        guard ending == nil, let status = ProgramProcess.reap(process.id) else { return }
        ending = status
        host.loop.deregister(&endWatch)
        // Its descendants would keep its output open.
        ProgramProcess.signal(group: process.id, SIGKILL)
        deadline = now.instant + ProgramRunner.exitGracePeriod
        finishIfOver(at: now.instant)
    }

    private func readErrors(at now: Moment) {
        let buffer = host.network.buffer
        switch buffer.fill(from: process.errors) {
        case .bytes(let count) where count > 0:
            buffer.withBytes(count) { engine?.complained($0, at: now.instant) }
        case .wouldBlock: return
        case .bytes, .failed: host.loop.deregister(&errorWatch)
        }
    }

    private func finishIfOver(at now: Instant) {
        guard let ending, isOutputOver, let engine else { return }
        if errorWatch != nil { readErrors(at: host.loop.now) }
        release()
        self.engine = nil
        engine.transportClosed(ending, at: now)
        host.ended(self)
    }

    private func release() {
        host.loop.deregister(&endWatch)
        host.loop.deregister(&errorWatch)
    }

    // MARK: Engine

    func transportOpened(at now: Instant) {
        engine?.transportOpened(at: now)
    }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        engine?.receive(bytes, at: now)
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        isOutputOver = true
        // A process without output is useless.
        if ending == nil, deadline == nil { deadline = now + ProgramRunner.exitGracePeriod }
        finishIfOver(at: now)
    }

    func drain(into output: inout ByteQueue) {
        engine?.drain(into: &output)
    }

    var isEstablished: Bool { true }
    var wantsDisconnect: Bool { engine?.wantsDisconnect ?? true }

    var nextDeadline: Instant? { engine?.nextDeadline }

    func expire(at now: Instant) {
        engine?.expire(at: now)
    }
}
