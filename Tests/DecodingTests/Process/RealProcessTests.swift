import Core
import Foundation
import Glibc
import Logging
import System
import TestSupport
import Testing

@testable import Commands
@testable import Decoding

/// Decoders in separate processes, on a loop.
@Suite("A decoder in a process")
struct RealProcessTests {
    /// A loop with one such decoder.
    private final class Rig: LoopOwner {
        let loop: EventLoop
        let process: DecoderProgram
        private let host: ProgramRunner
        private(set) var responses: [Handle: Decoded] = [:]
        private var isOver: () -> Bool = { true }
        private var limit = Instant.distantFuture
        private(set) var isLate = false
        private(set) var mostOfTurn = 0

        init(_ command: [String], _ edit: (inout ProcessDecoder.Options) -> Void = { _ in }) throws {
            loop = try EventLoop()
            host = ProgramRunner(try SocketNetwork(loop: loop, resolver: Resolver()))
            var options = ProcessDecoder.Options(program: Program(command: command))
            options.restartPause = .milliseconds(1)
            options.queue.deadline = .milliseconds(500)
            edit(&options)
            process = DecoderProgram(
                name: "d", options, host: host, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                at: loop.now.instant)
        }

        var nextDeadline: Instant? { min(limit, process.nextDeadline ?? .distantFuture) }

        func expire(at now: Moment) {}

        func endTurn(at now: Moment) {
            process.step(at: now)
            let before = responses.count
            while let result = process.nextResult() { responses[result.handle] = result.decoded }
            mostOfTurn = max(mostOfTurn, responses.count - before)
            isLate = now.instant >= limit
            if isOver() || isLate { loop.stop() }
        }

        func run(until condition: @escaping () -> Bool) throws {
            isOver = condition
            defer { isOver = { true } }
            limit = SystemClock.now().instant + .seconds(60)
            try loop.run(owner: self)
            try #require(!isLate, "\(responses.count) answers; \(process.lastFailure ?? "no failure")")
        }

        func ask(_ bodies: [String]) throws {
            for (handle, body) in bodies.enumerated() {
                process.ask(Handle(handle), OneOffDelivery(body: Array(body.utf8)).delivery)
            }
            try run { [unowned self] in responses.count == bodies.count }
        }

        func kind(_ handle: Handle) -> String {
            switch responses[handle] {
            case .request: "request"
            case .ignore: "ignore"
            case .reject(let failure): failure.detail
            case .later: "later"
            case nil: "none"
            }
        }
    }

    private static let envelope =
        #"{"device-token":"\#(DecoderSample.token)","apns-topic":"a","payload":{"aps":{"alert":"\u0048\n"}}}"#

    @Test("It decodes messages in batches, and payloads stay unchanged in its answer")
    func responses() throws {
        // A busy machine may take longer than the rig's deadline.
        let rig = try Rig([EchoDecoder.path]) { $0.queue.deadline = .seconds(30) }
        try rig.ask(Array(repeating: Self.envelope, count: 2000))
        for response in rig.responses.values {
            let request = try response.get()
            #expect(string(request.notifications[0].payload) == #"{"aps":{"alert":"\u0048\n"}}"#)
        }
        #expect(rig.process.counters.restarts == 0)
    }

    @Test(
        "Any misbehaviour over a message quarantines that message, and all others are decoded",
        arguments: ["crash", "hang", "garbage", "oversize", "unknown", "silence"])
    func misbehaves(how: String) throws {
        let waits = ["hang", "silence"].contains(how)
        let rig = try Rig([EchoDecoder.path]) { if !waits { $0.queue.deadline = .seconds(30) } }
        var bodies = Array(repeating: Self.envelope, count: 200)
        bodies[70] = how
        try rig.ask(bodies)
        #expect(rig.kind(70).hasPrefix("the decoder failed 2 times with this message alone: "), "\(rig.kind(70))")
        #expect(rig.responses.values.count { if case .request = $0 { true } else { false } } == 199)
        #expect(rig.process.counters.quarantined == 1 && rig.process.counters.restarts == 3)
        #expect(rig.kind(70).contains("it took longer than") == waits)
        if how == "crash" { #expect(rig.kind(70).hasSuffix("it was ended by SIGABRT")) }
    }

    @Test("Its environment has only PATH, LANG and the variables of env, and no shell parses its arguments")
    func environment() throws {
        let rig = try Rig(["/usr/bin/env", "A=b c", "LANG=xx", EchoDecoder.path, "$(exit 1); *"])
        try rig.ask(["dump"])
        let names = rig.kind(0).components(separatedBy: "\\n").filter { !$0.isEmpty }.sorted()
        #expect(names.filter { !$0.hasPrefix("PATH=") } == ["A=b c", "LANG=xx"])
        #expect(names.count == (unsafe getenv("PATH") == nil ? 2 : 3))
    }

    @Test("It leads its own process group and inherits no descriptors; its children end with it")
    func isolation() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/pid"
        let own = try Rig(
            [
                "/usr/bin/env", "FILE=\(file)", "sh", "-c",
                "sleep 600 & echo $! > $FILE; ls /proc/$$/fd > $FILE.fds; mv $FILE $FILE.done; wait",
            ]
        ) { $0.startTime = .milliseconds(700) }
        // It sends no hello, and is killed for that.
        try own.run { own.process.counters.restarts == 1 }
        let descriptors = try String(contentsOfFile: file + ".fds", encoding: .utf8)
        #expect(descriptors.split(separator: "\n").filter { $0 == "0" || $0 == "1" || $0 == "2" }.count == 3)
        #expect(descriptors.split(separator: "\n").count <= 4, "\(descriptors)")
        let child = try #require(pid_t(try String(contentsOfFile: file + ".done", encoding: .utf8).filter(\.isNumber)))
        try eventually("process \(child) is gone") { kill(child, 0) == 0 ? nil : true }
    }

    @Test("A program that cannot be started is retried, and the cause is reported")
    func missing() throws {
        let rig = try Rig(["/no/such/program"])
        try rig.run { rig.process.counters.restarts == 3 }
        #expect(rig.process.lastFailure == "cannot start /no/such/program: No such file or directory")
    }

    @Test("A slow reader gets all of a large load")
    func slow() throws {
        let rig = try Rig([EchoDecoder.path, "--slow"]) {
            $0.queue.inFlight = 2000
            $0.queue.batch = 1000
            $0.queue.deadline = .seconds(30)
        }
        let padding = String(repeating: "é\"", count: 20_000)
        try rig.ask((0..<100).map { "\($0) \(padding)" })
        #expect(rig.responses.values.count { if case .ignore = $0 { true } else { false } } == 100)
        #expect(rig.process.counters.restarts == 0 && rig.mostOfTurn < 100)
    }

    @Test(
        "A stopped decoder ends in time, also one that heeds only the end of its input",
        arguments: [[], ["/usr/bin/env", "--ignore-signal=TERM"]])
    func stops(wrapper: [String]) throws {
        let rig = try Rig(wrapper + [EchoDecoder.path]) { $0.queue.deadline = .seconds(30) }
        try rig.ask([Self.envelope])
        let start = SystemClock.now().instant
        rig.process.stop()
        try rig.run { rig.process.hasStopped }
        #expect(SystemClock.now().instant - start < DecoderProgram.exitTimeout)
        #expect(rig.process.counters.restarts == 0)
    }

    @Test("A program that is being killed when its decoder is stopped is not started again")
    func stopsWhileFailing() throws {
        let rig = try Rig(["/usr/bin/sleep", "60"]) { $0.startTime = .zero }
        for _ in 0..<2 { rig.process.step(at: SystemClock.now()) }
        rig.process.stop()
        try rig.run { rig.process.hasStopped }
        #expect(rig.process.counters.restarts == 0)
    }

    @Test("The Swift example decodes orders")
    func swift() throws {
        let rig = try Rig([EchoDecoder.beside("example-decoder")]) { $0.queue.deadline = .seconds(30) }
        func order(_ state: String, _ more: String) -> String {
            #"{"state":"\#(state)","title":"Your “order”","text":"is ready"\#(more)}"#
        }
        let later = Int(Date().timeIntervalSince1970) + 3600
        let device = #","device":"\#(DecoderSample.token)""#
        try rig.ask([
            order("shipped", device), order("draft", device), "{}", order("shipped", ""),
            order("shipped", device + #","notBefore":\#(later)"#), order("shipped", #","device":"x""#),
        ])
        let request = try #require(rig.responses[0]).get()
        #expect(request.notifications.map(\.hex) == [DecoderSample.token])
        #expect(
            string(request.notifications[0].payload)
                == #"{"aps":{"alert":{"body":"is ready","title":"Your “order”"}}}"#)
        #expect((1...4).map { rig.kind($0) } == ["ignore", "not an order", "device: missing", "later"])
        // A wrong device token is invalid alone, as in any list.
        #expect(rig.kind(5) == "request")
    }

    @Test("The Python example decodes orders", .enabled(if: Executable.path(of: "python3") != nil))
    func python() throws {
        let example = "\(TestEnvironment.repository)/docs/produce/examples/process/decoder.py"
        let rig = try Rig(["python3", example]) { $0.queue.deadline = .seconds(30) }
        let order = #"{"user":{"device":"\#(DecoderSample.token)"},"title":"Your “order”","text":"is ready"}"#
        try rig.ask([order, #"{"type":"mail"}"#, "{}", "[]", #"{"user":{"device":"x"}}"#])
        let request = try #require(rig.responses[0]).get()
        #expect(
            string(request.notifications[0].payload)
                == #"{"aps":{"alert":{"title":"Your \u201corder\u201d","body":"is ready"}}}"#)
        #expect(
            (1...4).map { rig.kind($0) } == [
                "ignore", "user.device: missing", "not an order: AttributeError", "not an order: KeyError",
            ])
    }
}
