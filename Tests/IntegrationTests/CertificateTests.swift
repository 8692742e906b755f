import Core
import Simulator
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Certificates")
    struct CertificateTests {
        private typealias Issued = (certificatePEM: String, privateKeyPEM: String)

        private static let openssl = "/usr/bin/openssl"
        private static let topic = "com.example.certified"

        private let now = SystemClock.now().wall
        private let authority: CertificateAuthority
        private let directory: TemporaryDirectory

        init() throws {
            authority = CertificateAuthority(commonName: "Clients", now: now)
            directory = try TemporaryDirectory()
            try directory.write(authority.certificatePEM, to: "clients.pem")
        }

        /// Writes a certificate and its key, and returns their paths as YAML of an app.
        private func credential(_ issued: Issued, isPKCS12: Bool = false, name: String = "app") throws -> String {
            let certificate = try directory.write(issued.certificatePEM, to: "\(name).pem")
            let key = try directory.write(issued.privateKeyPEM, to: "\(name).key")
            guard isPKCS12 else {
                return "certificate: { certificate_file: \(certificate), private_key_file: \(key) }"
            }
            let file = directory.file("\(name).p12")
            try ChildProcess.run(
                Self.openssl,
                ["pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", file, "-passout", "pass:s3cret"])
            let password = try directory.write("s3cret\n", to: "\(name).password")
            return "certificate: { p12_file: \(file), password_file: \(password) }"
        }

        // MARK: Sending

        @Test("several keys, teams, certificates and environments are used side by side and never mixed")
        func manyCredentials() throws {
            // Both services know each credential's permissions, and refuse everything else.
            let first = SigningKey.generate()
            let second = SigningKey.generate()
            let firstFile = try directory.write(first.pkcs8PEM, to: "first.p8")
            let secondFile = try directory.write(second.pkcs8PEM, to: "second.p8")
            let rules = """
                set client-ca \(directory.file("clients.pem"))
                set key FIRSTKEY01 team=FIRSTTEAM1 file=\(firstFile) topic=com.example.one
                set key SECONDKEY2 team=SECONDTEAM file=\(secondFile) topic=com.example.two environment=production
                """
            var services: [String: (server: SimulatorServer, authority: String)] = [:]
            for environment in Environment.allCases {
                var options = SimulatorOptions()
                options.script = try Script(rules, file: "script", &options.configuration)
                options.configuration.environment = environment
                options.authorityFile = directory.file("\(environment.rawValue).pem")
                services[environment.rawValue] = (
                    try SimulatorServer(options), directory.file("\(environment.rawValue).pem")
                )
            }
            defer { for service in services.values { service.server.stop() } }

            let one = "token: { key_file: \(firstFile), key_id: FIRSTKEY01, team_id: FIRSTTEAM1 }"
            let two = "token: { key_file: \(secondFile), key_id: SECONDKEY2, team_id: SECONDTEAM }"
            let three = try credential(authority.issueProvider(bundleID: "com.example.three"), name: "three")
            let four = try credential(
                authority.issueProvider(bundleID: "com.example.four", environments: [.development]), isPKCS12: true,
                name: "four")
            let apps = [
                ("com.example.one", "production", one), ("com.example.one", "development", one),
                ("com.example.two", "production", two), ("com.example.three", "production", three),
                ("com.example.three", "development", three), ("com.example.four", "development", four),
            ]

            let stage = try Stage(script: "")
            var settings = Stage.Settings()
            settings.workers = 2
            settings.moreApps = try apps.map { topic, environment, credential in
                let service = try #require(services[environment])
                return """
                      - topic: \(topic)
                        environment: \(environment)
                        endpoint: https://127.0.0.1:\(service.server.port)
                        ca_file: \(service.authority)
                        \(credential)

                    """
            }.joined()
            let worker = try stage.start(settings)
            let count = 20 * apps.count
            try stage.client.publish(
                (0..<count).map { index in
                    let (topic, environment, _) = apps[index % apps.count]
                    let request = Requests.body(index, topic: topic).dropLast()
                    let body = "\(request),\"environment\":\"\(environment)\"}"
                    return stage.requests.message(index, to: stage.quorumQueue, body: body)
                })
            var responded = 0
            try stage.client.consume([stage.resultQueue]) { delivery in
                let result = try Conservation.Result(delivery)
                #expect(result.outcome == "accepted" && result.attempts == 1)
                responded += 1
                return responded == count
            }
            try worker.end()

            for (environment, service) in services {
                let ledger = service.server.ledger
                let expected = apps.filter { $0.1 == environment }
                #expect(ledger.statistics.responses == [200: 20 * expected.count], "\(environment)")
                #expect(ledger.failures.isEmpty)
                let connections = Dictionary(grouping: ledger.records, by: \.connection)
                for records in connections.values {
                    let topics = Set(records.compactMap(\.fields.topic))
                    #expect(topics.count == 1, "one credential on a connection")
                    let usesToken = ["com.example.one", "com.example.two"].contains { topics == [Array($0.utf8)] }
                    #expect(records.allSatisfy { ($0.fields.authorization != nil) == usesToken })
                }
                #expect(Set(ledger.records.compactMap(\.fields.topic)).count == expected.count)
            }
        }

        // MARK: Checking

        @Test("check shows what a certificate is valid for")
        func check() throws {
            let universal = authority.issueProvider(
                bundleID: Self.topic,
                topics: [.init(Self.topic, kinds: ["app"]), .init("\(Self.topic).voip", kinds: ["voip"])])
            let file = try directory.write(
                "apps:\n  - topic: \(Self.topic)\n    \(credential(universal))\n", to: "harebell.yaml")
            let object = try ChildProcess.harebell(["check", "--config", file, "--json"]).object()
            #expect(object["ok"] as? Bool == true)
            let app = try #require((object["apps"] as? [[String: Any]])?.first)
            #expect(app["credential"] as? String == "certificate" && app["readable"] as? Bool == true)
            #expect(app["environments"] as? [String] == ["production", "development"])
            #expect(app["user_id"] as? String == Self.topic)
            #expect((3640...3650).contains(app["days_left"] as? Int ?? 0))
            let topics = try #require(app["topics"] as? [[String: Any]])
            #expect(topics.map { $0["topic"] as? String } == [Self.topic, "\(Self.topic).voip"])
            #expect(topics.map { $0["kinds"] as? [String] } == [["app"], ["voip"]])
        }
    }
}
