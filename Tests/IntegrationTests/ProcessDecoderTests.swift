import AMQP
import Core
import Foundation
import Glibc
import System
import TestSupport
import Testing

extension ProcessTests {
    @Suite("A decoder in a separate process")
    struct ProcessDecoderTests {
        private static func settings() -> Stage.Settings {
            var settings = Stage.Settings()
            settings.decoder = "echo"
            settings.more = """
                decoders:
                  - name: echo
                    process: { command: ["\(EchoDecoder.path)"] }
                """
            return settings
        }

        /// The program of every worker thread.
        private static func programs(of worker: ChildProcess) -> [pid_t] {
            let path = "/proc/\(worker.processID)/task"
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            let children = threads.flatMap { thread in
                (try? String(contentsOfFile: "\(path)/\(thread)/children", encoding: .utf8))?
                    .split(separator: " ") ?? []
            }
            return children.compactMap { pid_t($0) }
        }

        @Test(
            "repeated kills under load lose nothing, and poisonous messages alone are quarantined"
        )
        func killed() throws {
            let poison = 1500
            let load = FaultRun.Load(rate: 1500) { index, message in
                if index % poison == 0 { message.body = ArraySlice("crash".utf8) }
            }
            let run = try FaultRun(Stage(), [Self.settings()], load)
            for step in 1...12 {
                try run.waitUntilAccepted(Double(step) / 15)
                try eventually("a program to kill; \(run.worker.report)", within: .seconds(60)) {
                    Self.programs(of: run.worker).contains { kill($0, SIGKILL) == 0 } ? true : nil
                }
            }
            let end = try run.finish()
            run.check(end, "a decoder that is killed")
            #expect(end.results.count == FaultRun.count)
            // By chance, one or two more messages may be quarantined.
            let invalid = end.outcomes["invalid"] ?? 0
            #expect((FaultRun.count / poison...FaultRun.count / poison + 5).contains(invalid), "\(end.outcomes)")
            #expect(end.deadLetters.count == invalid)
            #expect((0..<FaultRun.count / poison).allSatisfy { end.deadLetters[$0 * poison] == 1 })
            try run.stage.removeQueues()
        }

        @Test("the worker ends its programs with it, even when it is killed")
        func orphans() throws {
            let stage = try Stage()
            let worker = try stage.start(Self.settings())
            // A zombie accepts signals until its new parent has waited for it.
            func isRunning(_ program: pid_t) -> Bool {
                let path = "/proc/\(program)/stat"
                guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return false }
                // The state follows the name, which is in parentheses.
                let state = text.split(separator: ")").last?.dropFirst().first
                return state != "Z" && state != "X"
            }
            let programs = try eventually("a program") {
                let programs = Self.programs(of: worker)
                return programs.isEmpty ? nil : programs
            }
            worker.signal(SIGKILL)
            try worker.waitForExit()
            try eventually("\(programs) are gone") { programs.contains(where: isRunning) ? nil : true }
            try stage.removeQueues()
        }

        @Test("decode runs it, and check reports a missing one")
        func commands() throws {
            let binary = try #require(TestEnvironment.binary)
            let directory = try TemporaryDirectory()
            func write(_ program: String) throws -> String {
                try directory.write(
                    """
                    queues: [{ name: q, decoder: echo }]
                    decoders: [{ name: echo, process: { command: ["\(program)"] } }]
                    apps:
                      - topic: \(Requests.topic)
                        token: { key_file: k, key_id: ABC123DEFG, team_id: DEF123GHIJ }
                    """, to: "harebell.yaml")
            }
            func decode(_ body: String, _ program: String) throws -> ChildProcess {
                let arguments = [
                    "decode", "--config", try write(program), "--decoder", "echo", "--file",
                    try directory.write(body, to: "body"),
                ]
                let process = try ChildProcess(binary, arguments)
                try process.waitForExit(within: .seconds(60))
                return process
            }
            let good = try decode(Requests.body(1), EchoDecoder.path)
            #expect(good.exit == .exited(0) && good.text().contains("  \(Requests.topic)\n"), "\(good.report)")
            let bad = try decode("crash", EchoDecoder.path)
            #expect(bad.exit == .exited(65), "\(bad.report)")
            #expect(bad.text() == "reject: the decoder failed with this message: it was ended by SIGABRT\n")
            #expect(bad.text(.errors).contains("the decoder writes: this body is too much"))
            let none = try decode("{}", "/bin/true")
            #expect(none.exit == .exited(69) && none.text(.errors).contains("it ended with status 0"), "\(none.report)")
            let check = try ChildProcess(binary, ["check", "--config", try write("no-such-program")])
            try check.waitForExit()
            #expect(check.exit == .exited(78))
            #expect(
                check.text().contains(":2:") && check.text().contains("not an executable program: no-such-program"))
        }
    }
}
