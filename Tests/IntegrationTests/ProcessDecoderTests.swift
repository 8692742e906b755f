import Foundation
import Glibc
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
        }

        @Test("decode runs it, and check reports a missing one")
        func commands() throws {
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
                try .harebell([
                    "decode", "--config", try write(program), "--decoder", "echo", "--file",
                    try directory.write(body, to: "body"),
                ])
            }
            let good = try decode(Requests.body(1), EchoDecoder.path)
            #expect(good.exit == .exited(0) && good.text().contains("  \(Requests.topic)\n"), "\(good.report)")
            let bad = try decode("crash", EchoDecoder.path).expectExit(65)
            #expect(bad.text() == "reject: the decoder failed with this message: it was ended by SIGABRT\n")
            #expect(bad.text(.errors).contains("the decoder writes: this body is too much"))
            let none = try decode("{}", "/bin/false")
            #expect(none.exit == .exited(69) && none.text(.errors).contains("it ended with status 1"), "\(none.report)")
            let check = try ChildProcess.harebell(["check", "--config", try write("no-such-program")])
            #expect(check.exit == .exited(78))
            #expect(check.text().contains(":2:") && check.text().contains("not an executable program: no-such-program"))
        }
    }
}
