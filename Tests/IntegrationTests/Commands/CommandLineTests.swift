import Foundation
import Glibc
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// Rules for all commands, without a broker.
    @Suite("The command line")
    struct CommandLineTests {
        private let directory: TemporaryDirectory
        private let binary: String

        init() throws {
            directory = try TemporaryDirectory()
            binary = try #require(TestEnvironment.binary)
        }

        private func run(_ arguments: [String], environment: [String: String] = [:]) throws -> ChildProcess {
            try .harebell(arguments, environment: environment)
        }

        /// One app, and a broker without a listener.
        private func configuration(
            name: String = "harebell.yaml", broker: String = "amqp://guest:guest@127.0.0.1:1/%2f",
            moreBroker: String = "", app: String = "", _ more: String = ""
        ) throws -> String {
            try directory.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
            return try directory.write(
                """
                broker: { endpoints: ["\(broker)"], \(moreBroker) }
                apps:
                  - topic: com.example.app
                    \(app)
                    token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
                \(more)

                """, to: name)
        }

        // MARK: Usage

        @Test("no command is 64 with the help on standard error", arguments: [[], ["dead-letters"], ["channels"]])
        func noCommand(arguments: [String]) throws {
            let process = try run(arguments).expectExit(64)
            #expect(process.text().isEmpty, "\(process.report)")
            let help = try run(arguments + ["--help"])
            #expect(help.exit == .exited(0) && help.text(.errors).isEmpty, "\(help.report)")
            #expect(process.text(.errors) == help.text())
        }

        @Test("an unknown command is 64 and suggests the nearest")
        func unknownCommand() throws {
            for (arguments, complaint) in [
                (["chekc"], "unknown command \"chekc\"; did you mean \"check\"?"),
                (["topo", "--apply"], "unknown command \"topo\"; did you mean \"topology\"?"),
                (["dead-letters", "rplay"], "unknown command \"rplay\"; did you mean \"replay\"?"),
                (["frobnicate"], "unknown command \"frobnicate\"\n"),
                (["help", "frobnicate"], "unknown command \"frobnicate\"\n"),
                (["help", "dead-letters", "rplay"], "unknown command \"rplay\"; did you mean \"replay\"?"),
            ] {
                let process = try run(arguments).expectExit(64)
                #expect(process.text(.errors).hasPrefix("Error: \(complaint)"), "\(process.report)")
                #expect(process.text().isEmpty)
            }
            let load = try run(["help", "load"])
            #expect(load.exit == .exited(0) && load.text().contains("(default: 32)"), "\(load.report)")
            #expect(try run(["help"]).exit == .exited(0))
        }

        @Test("a full standard output is 70, also for help")
        func fullOutput() throws {
            let file = try configuration()
            for arguments in [["--help"], ["config"], ["check", "--config", file], ["--version"]] {
                let process = try ChildProcess("/bin/sh", ["-c", "exec \"$@\" > /dev/full", "sh", binary] + arguments)
                #expect(try process.waitForExit() == .exited(70), "\(arguments): \(process.report)")
                #expect(process.text(.errors).contains("No space left on device"), "\(process.report)")
            }
        }

        @Test("config prints every key, with or without its former flag, and as JSON")
        func reference() throws {
            let text = try run(["config"]).text()
            #expect(text.contains("\ndrain_deadline_seconds\n    integer, default 30, "), "\(text)")
            #expect(try run(["config", "--reference"]).text() == text)
            #expect(try run(["config", "--json"]).object()["keys"] is [Any])
        }

        @Test("a full pipe that does not block gets everything")
        func fullPipe() throws {
            let process = try ChildProcess("/usr/bin/python3", ["-c", Self.fullPipe, binary, "schema", "asyncapi"])
            #expect(try process.waitForExit() == .exited(0), "\(process.report)")
            #expect(process.text() == (try run(["schema", "asyncapi"]).text()))
            #expect(process.text().contains("\"request\": { \"schemaFormat\": "), "with the schemas")
            #expect(!process.text().contains(".schema.json"), "and without references to files")
        }

        /// Fills a non-blocking pipe, runs a command that writes to it, then prints what the command wrote.
        private static let fullPipe = """
            import os, subprocess, sys
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            filling = 0
            while True:
                try: filling += os.write(writing, b"-" * 4096)
                except BlockingIOError: break
            child = subprocess.Popen(sys.argv[1:], stdout=writing)
            os.close(writing)
            try: child.wait(1)
            except subprocess.TimeoutExpired: pass
            with os.fdopen(reading, "rb") as pipe: sys.stdout.buffer.write(pipe.read()[filling:])
            sys.exit(child.wait())
            """

        @Test("check names the broker and the queues, and says that they are the default")
        func checked() throws {
            let process = try run(["check", "--config", try configuration()])
            #expect(
                process.text() == """
                    broker 127.0.0.1:1, virtual host "/"
                    queue push.requests: decoder auto, prefetch 1000, by default, because the file has no queues
                    app com.example.app (production): signing key ABC123DEFG of team DEF123GHIJ, \
                    \(directory.file("AuthKey.p8"))
                    ok

                    """)
        }

        @Test("a load for an app of Apple's is refused, and former names of options are accepted with a warning")
        func options() throws {
            let file = try configuration(moreBroker: "max_message_bytes: 4194304")
            let load = try run(["load", "--config", file, "--count", "1", "--patience", "1"]).expectExit(64)
            #expect(load.text(.errors).contains("com.example.app (production) has no endpoint"), "\(load.report)")
            try run(["load", "--config", file, "--count", "1", "--topic", "com.example.other"]).expectExit(64)
            let sandbox = try configuration(name: "s.yaml", app: "endpoint: https://API.sandbox.push.apple.com")
            #expect(try run(["load", "--config", sandbox, "--count", "1"]).exit == .exited(64))
            let queues = "queues: [{ name: push.a }, { name: push.b, decoder: cloudevents }]"
            let several = try configuration(name: "several.yaml", queues)
            let ambiguous = try run(["load", "--config", several, "--count", "1"]).expectExit(64)
            #expect(
                ambiguous.text(.errors).contains("which queue? Name one with --queue: push.a, push.b"),
                "\(ambiguous.report)")
            let alert = ["send", "--config", several, "--device-token", "00aa", "--body", "a", "--queue", "push.b"]
            #expect(try run(alert).expectExit(64).errors.contains("has the decoder cloudevents"))
            let list = try run(["dead-letters", "list", "--config", file, "--app", "com.example.app"]).expectExit(69)
            #expect(list.text(.errors).hasPrefix("--app is now --topic; "), "\(list.report)")
            #expect(list.text(.errors).contains("cannot connect to 127.0.0.1:1"), "\(list.report)")
            let reason = try run(["dead-letters", "list", "--config", file, "--reason", "badtopic"]).expectExit(64)
            #expect(reason.text(.errors).contains("did you mean \"BadTopic\"?"), "\(reason.report)")
            let letter = #"{"properties":"AAA=","body":""# + String(repeating: "A", count: 5_500_000) + "\"}\n"
            let letters = try directory.write(letter, to: "letters.jsonl")
            let dry = try run(["dead-letters", "import", "--config", file, "--file", letters, "--dry-run"]).text()
            #expect(dry == "1 message can be imported into push.dead\n")
            try run(["dead-letters", "import", "--config", sandbox, "--file", letters, "--dry-run"]).expectExit(65)
        }

        @Test("a usage error shows the command's usage, whichever layer reports it")
        func usage() throws {
            let file = try configuration()
            for (arguments, usage) in [
                (["send", "--nothing"], "Usage: harebell send "),
                (["token", "--config", file, "--topic", "com.example.other"], "Usage: harebell token "),
                (["decode", "--file", directory.file("none")], "Usage: harebell decode "),
                (["dead-letters", "replay", "--config", file], "Usage: harebell dead-letters replay "),
                (["check", "--config"], "Usage: harebell check "), (["run", "--nothing"], "Usage: harebell run "),
                (["run", "--config", file, "--fast"], "Usage: harebell run "),
                (["load", "--count", "many"], "Usage: harebell load "),
                (["load", "--config", file, "--count", "9223372036854775807"], "Usage: harebell load "),
                (["simulate"], "Usage: harebell simulate "),
                (["simulate", "--port", "0", "--key-id", "ABC123DEFG"], "Usage: harebell simulate "),
            ] {
                let process = try run(arguments).expectExit(64)
                #expect(process.text(.errors).contains("\n\(usage)"), "\(process.report)")
            }
        }

        // MARK: The configuration file

        @Test("the file is that of --config, else of HAREBELL_CONFIG; without either or a standard file it is 78")
        func configurationFile() throws {
            let file = try configuration()
            let none = directory.file("none.yaml")
            #expect(try run(["check"], environment: ["HAREBELL_CONFIG": file]).exit == .exited(0))
            try run(["check", "--config", file], environment: ["HAREBELL_CONFIG": none]).expectExit(0)
            let missing = try run(["check"], environment: ["HAREBELL_CONFIG": none]).expectExit(78)
            #expect(missing.text().contains("\(none):1:1: cannot read the file"), "\(missing.report)")
            let json = try run(["check", "--config", none, "--json"])
            let problem = try #require((try json.object()["problems"] as? [[String: Any]])?.first, "\(json.report)")
            #expect(problem["severity"] as? String == "error" && problem["line"] as? Int == 1, "\(json.report)")
            guard !FileManager.default.fileExists(atPath: "/etc/harebell/harebell.yaml") else { return }
            for command in [["run"], ["check"], ["topology"], ["token"], ["dead-letters", "list"]] {
                let process = try run(command, environment: ["HAREBELL_CONFIG": ""]).expectExit(78)
                #expect(
                    process.text(.errors) == """
                        no configuration file: name one with --config FILE or in $HAREBELL_CONFIG, or create \
                        /etc/harebell/harebell.yaml

                        """)
            }
        }

        // MARK: Exit codes

        /// Of an APNs without a listener.
        private static let endpoint = "endpoint: https://127.0.0.1:1"
        private static let queue = "queues: [{ name: none }]\nadmin: null"

        private func payload() throws -> String {
            try directory.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload.json")
        }

        @Test("an unreadable TLS file of the broker is 78, in every command that needs it")
        func brokerFiles() throws {
            let nowhere = directory.file("nowhere.pem")
            let file = try configuration(
                broker: "amqps://127.0.0.1:1/%2f", moreBroker: "tls: { ca_file: \(nowhere) }", app: Self.endpoint,
                Self.queue)
            for arguments in [
                ["run"], ["check"], ["topology", "--apply"], ["load", "--queue", "none", "--count", "1"],
                ["send", "--device-token", "00aa", "--payload", try payload(), "--queue", "none"],
            ] {
                let process = try run(arguments + ["--config", file])
                #expect(process.exit == .exited(78), "\(arguments): \(process.report)")
                #expect(process.report.contains(nowhere), "\(arguments): \(process.report)")
                #expect(process.report.contains("No such file or directory"), "\(arguments): \(process.report)")
            }
        }

        @Test("the readiness of a worker without an admin server is 78")
        func noAdminServer() throws {
            let process = try run(["ready", "--config", try configuration("admin: null")]).expectExit(78)
            #expect(process.text(.errors).hasPrefix("admin is null"), "\(process.report)")
        }

        @Test("a machine without free descriptors is 70, in every command that needs one")
        func noDescriptors() throws {
            let file = try configuration(app: Self.endpoint, Self.queue)
            for arguments in [
                ["run", "--config", file], ["topology", "--apply", "--config", file],
                ["load", "--queue", "none", "--count", "1", "--config", file], ["channels", "list", "--config", file],
                ["send", "--device-token", "00aa", "--payload", try payload(), "--config", file],
                ["simulate", "--port", "0"],
            ] {
                // One more than standard input, output and errors: enough to read a file.
                let process = try ChildProcess("/bin/sh", ["-c", "ulimit -n 4; exec \"$@\"", "sh", binary] + arguments)
                #expect(try process.waitForExit() == .exited(70), "\(arguments): \(process.report)")
                #expect(process.text(.errors).contains("(EMFILE)"), "\(arguments): \(process.report)")
                #expect(process.text().isEmpty, "\(arguments): \(process.report)")
            }
        }

        // MARK: At a terminal, which script(1) emulates

        private static let escape: Character = "\u{1B}"

        /// The terminal's output, standard output and errors combined.
        private func runAtTerminal(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
            let command = ([binary] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let process = try ChildProcess(
                "/usr/bin/script", ["--quiet", "--return", "--command", command, "/dev/null"],
                environment: ["TERM": "xterm"].merging(environment) { $1 })
            try process.waitForExit(within: .seconds(60))
            return process.text()
        }

        @Test("Only a terminal shows a progress bar, which disappears at the end; problems are always reported")
        func progressBar() throws {
            let file = try configuration(app: Self.endpoint)
            let piped = try run(["check", "--connect", "--config", file])
            #expect(piped.exit == .exited(69) && piped.text().hasSuffix("\n2 errors, 1 warning\n"), "\(piped.report)")
            for text in [piped.text(), piped.text(.errors)] {
                #expect(!text.contains("░") && !text.contains(Self.escape) && !text.contains("\r"), "\(text)")
            }
            let seen = try runAtTerminal(["check", "--connect", "--config", file])
            let bar = try #require(seen.firstRange(of: #/\r[█░]{8,78}░ [0-3] of 3/#), "\(seen)")
            let end = try #require(seen.firstRange(of: "\r\u{1B}[K"), "\(seen)")
            let report = try #require(seen.firstRange(of: "broker 127.0.0.1:1: "), "\(seen)")
            #expect(bar.lowerBound < end.lowerBound && end.lowerBound < report.lowerBound)
            let dumb = try runAtTerminal(["check", "--connect", "--config", file], environment: ["TERM": "dumb"])
            #expect(!dumb.contains("░") && !dumb.contains(Self.escape), "\(dumb)")
            let busy = try runAtTerminal(["load", "--config", file, "--count", "1", "--timeout", "4"])
            #expect(busy.contains("\r\u{1B}[Kthe connection to 127.0.0.1:1 failed"), "\(busy)")
            #expect(busy.ranges(of: "; trying again").count == 1, "\(busy)")
            // Without a terminal there is neither.
            let json = try runAtTerminal(["check", "--connect", "--json", "--config", file])
            #expect(!json.contains("░") && !json.contains(Self.escape), "\(json)")
            let load = try ChildProcess(binary, ["load", "--config", file, "--count", "1"])
            try load.waitForLine(.errors) { $0.contains("127.0.0.1:1") && $0.hasSuffix("; trying again") }
            load.signal(SIGTERM)
            #expect(try load.waitForExit() == .exited(65) && !load.text().contains("per_second"), "\(load.report)")
        }
    }
}
