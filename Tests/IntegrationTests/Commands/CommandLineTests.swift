import Core
import Foundation
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
            let process = try ChildProcess(binary, arguments, environment: environment)
            try process.waitForExit(within: .seconds(60))
            return process
        }

        private func configuration(name: String = "harebell.yaml", _ more: String = "") throws -> String {
            try directory.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
            return try directory.write(
                """
                broker: { endpoints: ["amqp://guest:guest@127.0.0.1:1/%2f"] }
                apps:
                  - topic: com.example.app
                    token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
                \(more)

                """, to: name)
        }

        // MARK: Usage

        @Test(
            "no command is 64 with the help on standard error",
            arguments: [[], ["dead-letters"], ["channels"]])
        func noCommand(arguments: [String]) throws {
            let process = try run(arguments)
            #expect(process.exit == .exited(64), "\(process.report)")
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
                let process = try run(arguments)
                #expect(process.exit == .exited(64), "\(process.report)")
                #expect(process.text(.errors).hasPrefix("Error: \(complaint)"), "\(process.report)")
                #expect(process.text().isEmpty)
            }
            #expect(try run(["help", "check"]).exit == .exited(0))
            #expect(try run(["help"]).exit == .exited(0))
        }

        @Test("a full standard output is 70, also for help")
        func fullOutput() throws {
            let file = try configuration()
            for arguments in [["--help"], ["config", "--reference"], ["check", "--config", file], ["--version"]] {
                let process = try ChildProcess(
                    "/bin/sh", ["-c", "exec \"$@\" > /dev/full", "sh", binary] + arguments)
                #expect(try process.waitForExit() == .exited(70), "\(arguments): \(process.report)")
                #expect(process.text(.errors).contains("No space left on device"), "\(process.report)")
            }
        }

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
            let file = try configuration()
            let load = try run(["load", "--config", file, "--count", "1", "--patience", "1"])
            #expect(load.exit == .exited(64), "\(load.report)")
            #expect(load.text(.errors).contains("com.example.app (production) has no endpoint"), "\(load.report)")
            let foreign = try run(["load", "--config", file, "--count", "1", "--topic", "com.example.other"])
            #expect(foreign.exit == .exited(64), "\(foreign.report)")
            let several = try configuration(name: "several.yaml", "queues: [{ name: push.a }, { name: push.b }]")
            let ambiguous = try run(["load", "--config", several, "--count", "1"])
            #expect(ambiguous.exit == .exited(64), "\(ambiguous.report)")
            #expect(
                ambiguous.text(.errors).contains("which queue? Name one with --queue: push.a, push.b"),
                "\(ambiguous.report)")
            let list = try run(["dead-letters", "list", "--config", file, "--app", "com.example.app"])
            #expect(list.exit == .exited(69), "\(list.report)")
            #expect(list.text(.errors).hasPrefix("--app is now --topic; "), "\(list.report)")
            #expect(list.text(.errors).contains("cannot connect to 127.0.0.1:1"), "\(list.report)")
            let reason = try run(["dead-letters", "list", "--config", file, "--reason", "badtopic"])
            #expect(reason.exit == .exited(64), "\(reason.report)")
            #expect(reason.text(.errors).contains("did you mean \"BadTopic\"?"), "\(reason.report)")
        }

        @Test("a usage error shows the command's usage, whichever layer reports it")
        func usage() throws {
            let file = try configuration()
            for (arguments, usage) in [
                (["send", "--nothing"], "Usage: harebell send "),
                (["token", "--config", file, "--topic", "com.example.other"], "Usage: harebell token "),
                (["decode", "--file", directory.file("none")], "Usage: harebell decode "),
                (["dead-letters", "replay", "--config", file], "Usage: harebell dead-letters replay "),
                (["check", "--config"], "Usage: harebell check "),
            ] {
                let process = try run(arguments)
                #expect(process.exit == .exited(64), "\(process.report)")
                #expect(process.text(.errors).contains("\n\(usage)"), "\(process.report)")
            }
        }

        // MARK: The configuration file

        @Test("the file is that of --config, else of HAREBELL_CONFIG; without either or a standard file it is 78")
        func configurationFile() throws {
            let file = try configuration()
            let none = directory.file("none.yaml")
            #expect(try run(["check"], environment: ["HAREBELL_CONFIG": file]).exit == .exited(0))
            let chosen = try run(["check", "--config", file], environment: ["HAREBELL_CONFIG": none])
            #expect(chosen.exit == .exited(0), "\(chosen.report)")
            let missing = try run(["check"], environment: ["HAREBELL_CONFIG": none])
            #expect(missing.exit == .exited(78), "\(missing.report)")
            #expect(missing.text().contains("\(none):1:1: cannot read the file"), "\(missing.report)")
            guard !FileManager.default.fileExists(atPath: "/etc/harebell/harebell.yaml") else { return }
            for command in [["run"], ["check"], ["topology"], ["token"], ["dead-letters", "list"]] {
                let process = try run(command, environment: ["HAREBELL_CONFIG": ""])
                #expect(process.exit == .exited(78), "\(process.report)")
                #expect(
                    process.text(.errors) == """
                        no configuration file: name one with --config FILE or in $HAREBELL_CONFIG, or create \
                        /etc/harebell/harebell.yaml

                        """)
            }
        }
    }
}
