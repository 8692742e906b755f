import Core
import Foundation
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell token")
    struct TokenCommandTests {
        private let directory: TemporaryDirectory
        private let key = SigningKey.generate()
        private let configuration: String

        init() throws {
            directory = try TemporaryDirectory()
            try directory.write(key.pkcs8PEM, to: "AuthKey.p8")
            configuration = try directory.write(
                """
                apps:
                  - topic: com.example.app
                    token: { key_file: AuthKey.p8, key_id: LEDGER1234, team_id: TEAM123456 }
                  - topic: com.example.legacy
                    certificate: { certificate_file: legacy.pem, private_key_file: legacy.key }
                """, to: "harebell.yaml")
        }

        private func run(_ topic: String?, _ more: String...) throws -> ChildProcess {
            let binary = try #require(TestEnvironment.binary)
            let choice = (topic.map { ["--topic", $0] } ?? []) + more
            let process = try ChildProcess(binary, ["token", "--config", configuration] + choice)
            try process.waitForExit()
            return process
        }

        /// One of the first two parts of a token.
        private static func object(_ part: Substring) throws -> [String: Any] {
            let bytes = try #require(Base64.url.decode(part))
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }

        @Test("prints one fresh token that the public key verifies")
        func token() throws {
            let process = try run("com.example.app")
            #expect(process.exit == .exited(0), "\(process.report)")
            let text = process.text()
            #expect(text.last == "\n" && text.count { $0 == "\n" } == 1)
            let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
            try #require(parts.count == 3)
            let header = try Self.object(parts[0])
            #expect(header["alg"] as? String == "ES256" && header["kid"] as? String == "LEDGER1234")
            let claims = try Self.object(parts[1])
            #expect(claims["iss"] as? String == "TEAM123456")
            let age = SystemClock.now().wall.milliseconds / 1000 - Int64(try #require(claims["iat"] as? Int))
            #expect((0...120).contains(age))
            let message = Array("\(parts[0]).\(parts[1])".utf8)
            let signature = try #require(Base64.url.decode(parts[2]))
            let verifier = try VerifyingKey(publicKeyPEM: key.publicKeyPEM)
            let isValid = verifier.verifyES256(message.span, signature: signature.span)
            #expect(isValid)
        }

        @Test("as JSON it has the key, the team and the expiration, an hour after it was made")
        func json() throws {
            let process = try run("com.example.app", "--json")
            #expect(process.exit == .exited(0), "\(process.report)")
            let response = try #require(
                try JSONSerialization.jsonObject(with: Data(process.text().utf8)) as? [String: String])
            #expect(
                response["topic"] == "com.example.app" && response["environment"] == "production"
                    && response["key_id"] == "LEDGER1234" && response["team_id"] == "TEAM123456", "\(response)")
            let claims = try Self.object(try #require(response["token"]?.split(separator: ".")[1]))
            let issued = Date(timeIntervalSince1970: Double(try #require(claims["iat"] as? Int)))
            let format = ISO8601DateFormatter()
            #expect(format.date(from: try #require(response["issued_at"])) == issued)
            #expect(format.date(from: try #require(response["expires_at"])) == issued + 3600)
        }

        @Test("an app without a signing key, or an unknown app, is 64")
        func usage() throws {
            let certificate = try run("com.example.legacy")
            #expect(certificate.exit == .exited(64), "\(certificate.report)")
            #expect(certificate.text(.errors).contains("uses a certificate, which needs no provider token"))
            for topic in [nil, "com.example.other"] {
                let process = try run(topic)
                #expect(process.exit == .exited(64), "\(process.report)")
                #expect(process.text().isEmpty, "\(process.report)")
            }
        }
    }
}
