import Core
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// Output only for terminals, which script(1) emulates.
    @Suite("At a terminal")
    struct TerminalTests {
        private let directory: TemporaryDirectory
        private let binary: String

        init() throws {
            directory = try TemporaryDirectory()
            binary = try #require(TestEnvironment.binary)
        }

        private static let escape: Character = "\u{1B}"

        /// One app, and a broker and an APNs that do not exist.
        private func configuration(more: String = "") throws -> String {
            try directory.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
            return try directory.write(
                """
                broker: { endpoints: ["amqp://guest:guest@127.0.0.1:1/%2f"] }
                apps:
                  - topic: com.example.app
                    endpoint: https://127.0.0.1:1
                    token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
                \(more)

                """, to: "harebell.yaml")
        }

        private func run(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
            let process = try ChildProcess(binary, arguments, environment: environment)
            try process.waitForExit(within: .seconds(60))
            return process
        }

        /// The terminal's output, standard output and errors combined.
        private func runAtTerminal(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
            let command = ([binary] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let process = try ChildProcess(
                "/usr/bin/script", ["--quiet", "--return", "--command", command, "/dev/null"],
                environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })
            try process.waitForExit(within: .seconds(60))
            return process.text()
        }

        @Test("A progress bar is shown only at a terminal, and removed at the end")
        func progressBar() throws {
            let file = try configuration()
            let piped = try run(["check", "--connect", "--config", file])
            #expect(piped.exit == .exited(69), "\(piped.report)")
            for text in [piped.text(), piped.text(.errors)] {
                #expect(!text.contains("░") && !text.contains(Self.escape) && !text.contains("\r"), "\(text)")
            }
            let seen = try runAtTerminal(["check", "--connect", "--config", file])
            let bar = try #require(seen.firstRange(of: "░"), "\(seen)")
            let end = try #require(seen.firstRange(of: "\r\u{1B}[K"), "\(seen)")
            let report = try #require(seen.firstRange(of: "broker 127.0.0.1:1: "), "\(seen)")
            #expect(bar.lowerBound < end.lowerBound && end.lowerBound < report.lowerBound)
            let dumb = try runAtTerminal(["check", "--connect", "--config", file], environment: ["TERM": "dumb"])
            #expect(!dumb.contains("░") && !dumb.contains(Self.escape), "\(dumb)")
            // Without a terminal there is neither.
            let json = try runAtTerminal(["check", "--connect", "--json", "--config", file])
            #expect(!json.contains("░") && !json.contains(Self.escape), "\(json)")
        }
    }
}
