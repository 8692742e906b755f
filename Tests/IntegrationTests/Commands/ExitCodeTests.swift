import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Exit codes")
    struct ExitCodeTests {
        private let directory: TemporaryDirectory
        private let binary: String

        init() throws {
            directory = try TemporaryDirectory()
            binary = try #require(TestEnvironment.binary)
        }

        /// A configuration whose broker has no listener.
        private func configuration(
            scheme: String = "amqp", host: String = "127.0.0.1", admin: String = "null", queue: String = "",
            more: String = "", _ broker: String = ""
        ) throws -> String {
            let key = try directory.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
            return try directory.write(
                """
                broker: { endpoints: ["\(scheme)://\(host):1/%2f"], \(broker) }
                queues: [{ name: none, \(queue) }]
                admin: \(admin)
                \(more)
                apps:
                  - topic: com.example.app
                    endpoint: https://127.0.0.1:1
                    token: { key_file: \(key), key_id: LEDGER1234, team_id: TEAM123456 }
                """, to: "harebell.yaml")
        }

        private func payload() throws -> String {
            try directory.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload.json")
        }

        /// Starts a command with a limit of open descriptors.
        private func start(_ arguments: [String], descriptors: Int) throws -> ChildProcess {
            try ChildProcess(
                "/bin/sh", ["-c", "ulimit -n \"$0\"; exec \"$@\"", String(descriptors), binary] + arguments)
        }

        @Test("an unreadable TLS file of the broker is 78, in every command that needs it")
        func brokerFiles() throws {
            let nowhere = directory.file("nowhere.pem")
            let file = try configuration(scheme: "amqps", "tls: { ca_file: \(nowhere) }")
            for arguments in [
                ["run"], ["check"], ["topology", "--apply"], ["load", "--queue", "none", "--count", "1"],
                ["send", "--device-token", "00aa", "--payload", try payload(), "--queue", "none"],
            ] {
                let process = try ChildProcess(binary, arguments + ["--config", file])
                #expect(try process.waitForExit() == .exited(78), "\(arguments): \(process.report)")
                #expect(process.report.contains(nowhere), "\(arguments): \(process.report)")
                #expect(process.report.contains("No such file or directory"), "\(arguments): \(process.report)")
            }
        }

        @Test("the readiness of a worker without an admin server is 78")
        func noAdminServer() throws {
            let process = try ChildProcess(binary, ["ready", "--config", try configuration()])
            #expect(try process.waitForExit() == .exited(78), "\(process.report)")
            #expect(process.text(.errors).hasPrefix("admin is null"), "\(process.report)")
        }

        @Test("a machine without free descriptors is 70, in every command that needs one")
        func noDescriptors() throws {
            let file = try configuration()
            for arguments in [
                ["run", "--config", file], ["topology", "--apply", "--config", file],
                ["load", "--queue", "none", "--count", "1", "--config", file], ["channels", "list", "--config", file],
                ["send", "--device-token", "00aa", "--payload", try payload(), "--config", file],
                ["simulate", "--port", "0"],
            ] {
                // One more than standard input, output and errors: enough to read a file.
                let process = try start(arguments, descriptors: 4)
                #expect(try process.waitForExit() == .exited(70), "\(arguments): \(process.report)")
                #expect(process.text(.errors).contains("(EMFILE)"), "\(arguments): \(process.report)")
                #expect(process.text().isEmpty, "\(arguments): \(process.report)")
            }
        }

        @Test(
            "a worker or admin server that gets no descriptor ends the process with 70",
            arguments: ["null", "{ listen: \"127.0.0.1:0\" }"])
        func noDescriptorsForWorker(admin: String) throws {
            let arguments = ["run", "--config", try configuration(admin: admin)]
            var hasWorkerFailed = false
            var hasAdminFailed = false
            for descriptors in 4..<64 {
                let process = try start(arguments, descriptors: descriptors)
                let hasEnded = try eventually("its end or a try to connect; \(process.report)", within: .seconds(30)) {
                    if process.hasEnded { return true }
                    return process.text(.errors).contains("the consuming connection cannot be opened") ? false : nil
                }
                guard hasEnded else { break }
                #expect(process.exit == .exited(70), "\(descriptors): \(process.report)")
                #expect(process.text(.errors).contains("(EMFILE)"), "\(descriptors): \(process.report)")
                if process.text(.errors).contains("worker=0") { hasWorkerFailed = true }
                if process.text(.errors).contains("cannot start the HTTP server") { hasAdminFailed = true }
            }
            #expect(hasWorkerFailed)
            #expect(hasAdminFailed == (admin != "null"))
        }
    }
}
