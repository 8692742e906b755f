import Core
import Glibc
import TestSupport
import Testing

@testable import System

@Suite("Programs")
struct ProgramRunnerTests {
    private static func program(onTerm action: String) -> Program {
        Program(command: ["/bin/sh", "-c", "trap '\(action)' TERM; echo $$; while :; do sleep 1; done"])
    }

    private static func rig() throws -> (LoopFixture, ProgramRunner, TestEngine) {
        let fixture = try LoopFixture()
        return (fixture, ProgramRunner(fixture.network), TestEngine())
    }

    @Test("A process that another part of the program has reaped, as the kernel does if SIGCHLD is ignored, has ended")
    func reapedElsewhere() throws {
        let (fixture, host, program) = try Self.rig()
        program.onReceive = { engine, _ in
            guard let id = Int32(String(decoding: engine.received, as: UTF8.self).dropLast()) else { return }
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        host.start(Program(command: ["/bin/sh", "-c", "sleep 9 & echo $$; read line"]), program)
        try fixture.run { host.nextDeadline != nil || program.hasEnded }
        #expect(host.nextDeadline.map { $0 > fixture.loop.now.instant } == true, "output may follow")
        try fixture.run { fixture.network.connectionCount == 0 }
        #expect(program.failure?.code.rawValue == "ECHILD", "together with its output")
    }

    @Test("The last words of a program are read, even if its end is found first")
    func lastWords() throws {
        let directory = try TemporaryDirectory()
        let (fixture, host, program) = try Self.rig()
        program.output = Array("go\n".utf8)
        // The program ends at once; its child writes a little later.
        let end = "(sleep 0.1; echo last >&2; : > \(directory.file("done"))) & exit 3"
        host.start(Program(command: ["/bin/sh", "-c", "read line; exec </dev/null >/dev/null; \(end)"]), program)
        while program.drains == 0, !program.hasEnded { try fixture.runOneTurn() }
        try eventually("the child has written") { unsafe access(directory.file("done"), F_OK) == 0 ? true : nil }
        try fixture.runOneTurn()
        #expect(program.complaints == Array("last\n".utf8) && program.failure?.code.rawValue == "exit 3")
    }

    @Test("A program that closes its standard error does not keep the loop busy")
    func closedErrors() throws {
        let (fixture, host, program) = try Self.rig()
        host.start(Program(command: ["/bin/sh", "-c", "exec 2>&-; echo; sleep 0.3; echo"]), program)
        try fixture.run { program.received.count >= 1 }
        let turns = fixture.loop.turns
        try fixture.run { program.received.count == 2 }
        #expect(fixture.loop.turns - turns < 20)
    }

    @Test("A program is killed if no descriptor is left to watch it with")
    func unwatched() throws {
        let code = try Thread.run("out of files") {
            try DescriptorTable.becomePrivate()
            let (fixture, host, program) = try Self.rig()
            var extra: [Int32] = []
            while case let number = dup(0), number >= 0 { extra.append(number) }
            // Enough for a pair of sockets and a pipe.
            for number in extra.suffix(4) { close(number) }
            host.start(Program(command: ["cat"]), program)
            try fixture.run(within: .seconds(5)) { program.hasEnded }
            return program.failure?.code.rawValue
        }
        #expect(code == "EMFILE")
    }

    @Test(
        "A program does not inherit an ignored SIGPIPE, is killed when it closes its output, and may leave children",
        arguments: [
            ("kill -PIPE $$", "SIGPIPE"), ("exec </dev/null >/dev/null; sleep 60", "SIGKILL"),
            ("exec 3>&1; x=$(setsid -f sh -c 'echo; exec sleep 30 >&3'); exit 4", "exit 4"),
        ])
    func signals(script: String, signal: String) throws {
        SignalSource.ignoreBrokenPipes()
        let begun = SystemClock.instant()
        let (fixture, host, program) = try Self.rig()
        host.start(Program(command: ["/bin/sh", "-c", script]), program)
        try fixture.run { program.hasEnded }
        #expect(program.failure?.code.rawValue == signal && fixture.network.connectionCount == 0)
        #expect(fixture.loop.turns < 100 && SystemClock.instant() - begun < .seconds(20), "no wait for a child")
    }

    @Test("A released host kills its programs, even one that ignores SIGTERM")
    func released() throws {
        let program = TestEngine()
        try {
            let fixture = try LoopFixture()
            let host = ProgramRunner(fixture.network)
            host.start(Self.program(onTerm: ""), program)
            try fixture.run { program.received.last == 10 }
        }()
        let id = try #require(Int32(String(decoding: program.received, as: UTF8.self).dropLast()))
        #expect(kill(id, 0) != 0 && errno == ESRCH)
    }

    @Test(
        "A stopped program may end by itself, is killed after its grace period, and is forgotten",
        arguments: [("", 0, "SIGKILL"), ("", 100, "SIGKILL"), ("sleep 0.1; exit 7", 60_000, "exit 7")])
    func stopped(action: String, grace: Int, ending: String) throws {
        let (fixture, host, program) = try Self.rig()
        host.start(Self.program(onTerm: action), program)
        try fixture.run { program.received.last == 10 }
        weak var process: (any Engine)?
        process = fixture.network.connections.first { _ in true }?.engine
        #expect(process != nil)
        host.stop(program, within: .milliseconds(grace))
        #expect((host.nextDeadline == nil) == (grace == 0))
        var due = fixture.loop.now
        due.instant = due.instant + .milliseconds(grace)
        if action.isEmpty { host.expire(at: due) }
        #expect((host.nextDeadline == nil) == action.isEmpty, "it is killed once")
        try fixture.run { program.hasEnded }
        #expect(program.failure?.code.rawValue == ending)
        #expect(process == nil, "its descriptors are closed")
        #expect(program.openings == 1)
    }
}

extension TestEngine: ProgramEngine {
    func complained(_ bytes: Span<UInt8>, at now: Instant) {
        complaints.append(bytes)
    }
}
