import Core
import Glibc
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// A broker with the plugin rabbitmq_auth_backend_oauth2 and tokens in `broker.password_file`.
    @Suite("Access tokens")
    struct AccessTokenTests {
        /// The lifetime of tokens, in seconds. The broker checks their expiration every second.
        private static let lifetime: Int64 = 20

        private static func token(_ key: SigningKey) -> String {
            let expires = SystemClock.now().wall.seconds + lifetime
            let scopes = ["read", "write", "configure"].map { "\"harebell.\($0):*/*\"" }.joined(separator: ",")
            let parts = [
                "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"test\"}",
                "{\"sub\":\"harebell\",\"aud\":[\"harebell\"],\"scope\":[\(scopes)],\"exp\":\(expires)}",
            ]
            let signed = parts.map { Base64.url.encode(Array($0.utf8)) }.joined(separator: ".")
            return "\(signed).\(Base64.url.encode(key.signES256(Array(signed.utf8).span)))"
        }

        private static func broker(_ key: SigningKey) throws -> PrivateBroker {
            try PrivateBroker([
                "enabled_plugins": "[rabbitmq_auth_backend_oauth2].",
                "advanced.config": """
                [{rabbit, [{auth_backends, [rabbit_auth_backend_oauth2, rabbit_auth_backend_internal]},
                           {channel_tick_interval, 1000}]},
                 {rabbitmq_auth_backend_oauth2,
                  [{resource_server_id, <<"harebell">>},
                   {key_config, [{signing_keys, #{<<"test">> => {pem, <<"\(key.publicKeyPEM)">>}}}]}]}].
                """,
            ])
        }

        @Test("A token is renewed on open connections; a refused one costs a connection until the next one")
        func renewal() throws {
            let key = SigningKey.generate()
            let broker = try Self.broker(key)
            let stage = try Stage(broker: broker.url, script: "")
            let file = try stage.directory.write(Self.token(key), to: "token")
            var settings = Stage.Settings(queues: [stage.quorumQueue], moreBroker: "password_file: \(file)")
            settings.broker = broker.url.replacing("guest:guest@", with: "harebell@")
            let worker = try stage.start(settings)
            let start = SystemClock.now().instant
            var (number, written) = (0, start)
            while SystemClock.now().instant - start < .seconds(2 * Self.lifetime) {
                try stage.exchange(number)
                number += 1
                guard SystemClock.now().instant - written > .seconds(5) else { continue }
                written = SystemClock.now().instant
                try stage.directory.write(Self.token(key), to: "token")
            }
            #expect(worker.errorLines(with: "password has changed") >= 3)
            #expect(!worker.text(.errors).contains("connection is lost"), "\(worker.report)")

            try stage.directory.write(Self.token(.generate()), to: "token")
            for which in ["consuming", "publishing"] {
                try worker.waitForLine(.errors, within: .seconds(60)) {
                    $0.contains("the \(which) connection is lost") && $0.contains("refused the new password")
                }
            }
            try worker.waitForLine(.errors, within: .seconds(60)) {
                $0.contains("connection cannot be opened") && $0.contains("ACCESS_REFUSED")
            }
            try stage.client.publish([stage.requests.message(number, to: stage.quorumQueue)])
            try stage.directory.write(Self.token(key), to: "token")
            try stage.client.consume([stage.resultQueue]) { try Conservation.Result($0).outcome == "accepted" }

            // Without a new token the broker permits no more publishes, or from RabbitMQ 4.3 on no connection.
            try worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("the file contains no newer one") }
            try eventually("the end of the token; \(worker.report)", within: .seconds(60)) {
                number += 1
                try stage.client.publish([stage.requests.message(number, to: stage.quorumQueue)])
                let lines = worker.text(.errors).split(separator: "\n")
                return lines.contains {
                    $0.contains("publishing connection is lost")
                        && ($0.contains("ACCESS_REFUSED") || $0.contains("credential expired"))
                } ? true : nil
            }
            worker.signal(SIGTERM)
            _ = try worker.waitForExit(within: .seconds(60))
        }
    }
}
