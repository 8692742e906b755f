import Core
import Glibc
import Testing

@testable import System

@Suite("Programs")
struct ProgramRunnerTests {
    /// Passes its calls to a test engine.
    private final class Conversation: ProgramEngine {
        let inner = TestEngine()

        func complained(_ bytes: Span<UInt8>, at now: Instant) {}
        func transportOpened(at now: Instant) { inner.transportOpened(at: now) }
        func receive(_ bytes: Span<UInt8>, at now: Instant) { inner.receive(bytes, at: now) }
        func transportClosed(_ failure: TransportError?, at now: Instant) { inner.transportClosed(failure, at: now) }
        func drain(into output: inout ByteQueue) { inner.drain(into: &output) }
        var wantsDisconnect: Bool { inner.wantsDisconnect }
        var nextDeadline: Instant? { inner.nextDeadline }
        func expire(at now: Instant) { inner.expire(at: now) }
    }

    @Test("A process that another part of the program has reaped, as the kernel does if SIGCHLD is ignored, has ended")
    func reapedElsewhere() throws {
        let fixture = try LoopFixture()
        let host = ProgramRunner(fixture.network)
        let program = Conversation()
        program.inner.onReceive = { engine, _ in
            guard let id = Int32(String(decoding: engine.received, as: UTF8.self).dropLast()) else { return }
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        host.start(Program(command: ["/bin/sh", "-c", "echo $$; read line"]), program)
        try fixture.run { program.inner.hasEnded }
        #expect(program.inner.failure?.code.rawValue == "ECHILD")
    }

    @Test("A released host kills its programs, even one that ignores SIGTERM")
    func released() throws {
        let program = Conversation()
        try {
            let fixture = try LoopFixture()
            let host = ProgramRunner(fixture.network)
            host.start(
                Program(command: ["/bin/sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"]), program)
            try fixture.run { program.inner.received.last == 10 }
        }()
        let id = try #require(Int32(String(decoding: program.inner.received, as: UTF8.self).dropLast()))
        #expect(kill(id, 0) != 0 && errno == ESRCH)
    }
}
