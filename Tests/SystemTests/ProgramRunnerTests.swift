import Core
import Glibc
import Testing

@testable import System

@Suite("Programs")
struct ProgramRunnerTests {
    @Test("A process that another part of the program has reaped, as the kernel does if SIGCHLD is ignored, has ended")
    func reapedElsewhere() throws {
        let fixture = try LoopFixture()
        let host = ProgramRunner(fixture.network)
        let program = TestEngine()
        program.onReceive = { engine, _ in
            guard let id = Int32(String(decoding: engine.received, as: UTF8.self).dropLast()) else { return }
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        host.start(Program(command: ["/bin/sh", "-c", "echo $$; read line"]), program)
        try fixture.run { program.hasEnded }
        #expect(program.failure?.code.rawValue == "ECHILD")
    }

    @Test("A released host kills its programs, even one that ignores SIGTERM")
    func released() throws {
        let program = TestEngine()
        try {
            let fixture = try LoopFixture()
            let host = ProgramRunner(fixture.network)
            host.start(
                Program(command: ["/bin/sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"]), program)
            try fixture.run { program.received.last == 10 }
        }()
        let id = try #require(Int32(String(decoding: program.received, as: UTF8.self).dropLast()))
        #expect(kill(id, 0) != 0 && errno == ESRCH)
    }
}

extension TestEngine: ProgramEngine {
    func complained(_ bytes: Span<UInt8>, at now: Instant) {}
}
