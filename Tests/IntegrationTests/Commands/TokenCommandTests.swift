import Core
import Foundation
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
            try .harebell(["token", "--config", configuration] + (topic.map { ["--topic", $0] } ?? []) + more)
        }

        /// One of the first two parts of a token.
        private static func object(_ part: Substring) throws -> [String: Any] {
            let bytes = try #require(Base64.url.decode(part))
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }

        @Test("as JSON it has the key, the team and the expiration, an hour after it was made")
        func json() throws {
            let process = try run("com.example.app", "--json").expectExit(0)
            let response = try #require(try process.object() as? [String: String])
            #expect(
                response["topic"] == "com.example.app" && response["environment"] == "production"
                    && response["key_id"] == "LEDGER1234" && response["team_id"] == "TEAM123456", "\(response)")
            let parts = try #require(response["token"]?.split(separator: "."))
            let claims = try Self.object(parts[1])
            let issued = Date(timeIntervalSince1970: Double(try #require(claims["iat"] as? Int)))
            let format = ISO8601DateFormatter()
            #expect(format.date(from: try #require(response["issued_at"])) == issued)
            #expect(format.date(from: try #require(response["expires_at"])) == issued + 3600)
            let signature = try #require(Base64.url.decode(parts[2]))
            let isValid = try VerifyingKey(publicKeyPEM: key.publicKeyPEM).verifyES256(
                Array("\(parts[0]).\(parts[1])".utf8).span, signature: signature.span)
            #expect(isValid)
            let plain = try run("com.example.app").text()
            #expect(plain.last == "\n" && plain.split(separator: ".").count == 3)
        }

        @Test("an app without a signing key, or an unknown app, is 64")
        func usage() throws {
            let certificate = try run("com.example.legacy").expectExit(64)
            #expect(certificate.text(.errors).contains("uses a certificate, which needs no provider token"))
            for topic in [nil, "com.example.other"] {
                let process = try run(topic).expectExit(64)
                #expect(process.text().isEmpty, "\(process.report)")
            }
        }
    }
}
