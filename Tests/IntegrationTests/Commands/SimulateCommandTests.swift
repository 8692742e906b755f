import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell simulate")
    struct SimulateCommandTests {
        private let directory: TemporaryDirectory
        private let binary: String
        private let key = SigningKey.generate()

        init() throws {
            directory = try TemporaryDirectory()
            binary = try #require(TestEnvironment.binary)
        }

        /// Starts one on a free port that trusts only ``key``, and waits until it listens.
        private func start(_ arguments: [String] = []) throws -> (process: ChildProcess, port: Substring) {
            let publicKey = try directory.write(key.publicKeyPEM, to: "public.pem")
            let process = try ChildProcess(
                binary,
                [
                    "simulate", "--port", "0", "--ca-file", directory.file("ca.pem"), "--public-key", publicKey,
                    "--key-id", "LEDGER1234", "--team-id", "TEAM123456",
                ] + arguments)
            try process.waitForLine("ready")
            let lines = process.text().split(separator: "\n")
            try #require(lines[0].hasPrefix("port "), "\(process.report)")
            return (process, lines[0].dropFirst(5))
        }

        /// Runs `harebell send` to it, with trust in the output of `--ca-file`.
        private func send(_ token: String, _ port: Substring) throws -> ChildProcess {
            try directory.write(key.pkcs8PEM, to: "AuthKey.p8")
            let configuration = try directory.write(
                """
                apps:
                  - topic: com.example.app
                    endpoint: https://127.0.0.1:\(port)
                    ca_file: ca.pem
                    token: { key_file: AuthKey.p8, key_id: LEDGER1234, team_id: TEAM123456 }
                """, to: "harebell.yaml")
            let payload = try directory.write("{\"aps\":{\"alert\":\"Hello\"}}", to: "payload.json")
            return try .harebell(["send", "--config", configuration, "--device-token", token, "--payload", payload])
        }

        @Test("it prints its port, is trusted by its CA file, and on SIGTERM ends with 0 and its totals")
        func summary() throws {
            let (process, port) = try start()
            #expect(try send("00aa", port).exit == .exited(0))
            #expect(try send("bad0", port).exit == .exited(65) && send("dead00", port).exit == .exited(65))
            try process.end()
            let lines = process.text().split(separator: "\n").dropFirst(2)
            for (name, value) in [
                ("connections", "3"), ("requests", "3"), ("silences", "0"),
                ("answers", "1 × 200, 1 × 400, 1 × 410"), ("reasons", "1 × BadDeviceToken, 1 × Unregistered"),
            ] {
                #expect(lines.contains { $0.hasPrefix("\(name)  ") && $0.hasSuffix("  \(value)") }, "\(process.report)")
            }
            let log = process.text(.errors).split(separator: "\n")
            try #require(log.count == 3, "\(process.report)")
            #expect(log[0].contains(" info 200 apns-id="), "\(process.report)")
            #expect(
                log[1].contains(" warning 400 BadDeviceToken: the device token begins with bad0 apns-id="),
                "\(process.report)")
            #expect(log[1].hasSuffix("device-token=bad0… push-type=alert stream=1 topic=com.example.app"))
        }

        @Test("--inbox shows accepted notifications, and curl can wait for them")
        func inbox() throws {
            let (process, port) = try start(["--inbox", "127.0.0.1:0", "--inbox-size", "2", "--log", "none"])
            let line = process.text().split(separator: "\n").first { $0.hasPrefix("inbox ") }
            let address = String(try #require(line).dropFirst(6))
            #expect(address.hasPrefix("http://127.0.0.1:"))
            let waiting = try ChildProcess(
                "/usr/bin/curl",
                ["--silent", "--fail", address + "notifications/wait?count=1&timeout=30&device-token=00bb"])
            for token in ["00aa", "bad0", "00bb", "00cc"] { _ = try send(token, port) }
            #expect(try waiting.waitForExit() == .exited(0), "\(waiting.report)")
            #expect(waiting.text().contains("\"device-token\":\"00bb\""), "\(waiting.report)")
            let all = try ChildProcess.run("/usr/bin/curl", ["--silent", "--fail", address + "notifications"])
            #expect(all.contains("\"stored\":2,\"oldest-id\":2,\"latest-id\":3"), "\(all)")
            #expect(!all.contains("00aa"), "\(all)")
            let refused = try ChildProcess.run("/usr/bin/curl", ["--silent", "--fail", address + "refused"])
            #expect(refused.contains("\"detail\":\"the device token begins with bad0\""), "\(refused)")
            try process.end()
            #expect(process.text(.errors).isEmpty, "\(process.report)")
        }

        @Test("an unusable script or file is 78, an inbox address in use 69, and an invalid option 64")
        func unusable() throws {
            let (first, port) = try start(["--inbox", "127.0.0.1:0", "--environment", "development"])
            #expect(try send("00aa", port).text().contains("\"apns-unique-id\":\""), "not in production")
            let line = first.text().split(separator: "\n").first { $0.hasPrefix("inbox ") }
            let taken = String(try #require(line).dropFirst("inbox http://".count).dropLast())
            let script = try directory.write("token *: 200\ntoken *: nonsense\n", to: "bad.script")
            let noKey = try directory.write("not a key\n", to: "no.pem")
            let nowhere = directory.file("nowhere/file")
            for (status, arguments, words) in [
                (69, ["--inbox", taken], "--inbox: "), (69, ["--port", "\(port)"], "--port: "),
                (64, ["--inbox", "8025"], "such as 127.0.0.1:8025"),
                (64, ["--inbox", "example.com:8025"], "a numeric address"),
                (64, ["--inbox-size", "0"], "from 1 to 1000000"), (64, ["--log", "loud"], "loud"),
                (78, ["--script", script], "\(script):2:"), (78, ["--script", nowhere], "cannot read \(nowhere)"),
                (
                    78, ["--public-key", noKey, "--key-id", "LEDGER1234", "--team-id", "TEAM123456"],
                    "the key LEDGER1234 cannot be read"
                ),
                (78, ["--client-ca", nowhere], nowhere), (78, ["--ca-file", nowhere], "cannot write \(nowhere)"),
                (78, ["--certificate", nowhere, "--private-key", nowhere], nowhere),
            ] as [(Int32, [String], String)] {
                let process = try ChildProcess.harebell(["simulate", "--port", "0"] + arguments)
                #expect(process.exit == .exited(status), "\(arguments): \(process.report)")
                #expect(process.errors.contains(words), "\(arguments): \(process.report)")
                #expect(status == 69 || process.text().isEmpty, "\(process.report)")
            }
            try first.end()
        }
    }
}
