import AMQP
import Foundation
import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Secrecy")
    struct SecrecyTests {
        private static let password = "open-sesame-of-the-broker"
        private static let adminToken = "open-sesame-of-the-pages"
        private static let words = "words-for-one-reader"

        /// Requests with every outcome and in every format; each contains ``words``. The result of the last one has
        /// no queue.
        private static let bodies: [String] = {
            func body(_ index: Int, beginning: String = "7", _ more: String = "", alert: String = "\"\(words)\"")
                -> String
            {
                let token = Requests.deviceToken(index, beginning: beginning)
                return """
                    {"device-token":"\(token)","apns-topic":"\(Requests.topic)"\(more),\
                    "payload":{"aps":{"alert":\(alert)},"private":"\(words)"}}
                    """
            }
            return [
                body(0), body(1, beginning: "bad0"), body(2, beginning: "dead"), body(3, beginning: "4e7"),
                body(4, ",\"apns-push-type\":\"alarm\""), body(5, alert: "{\"title\":[\"\(words)\"]}"),
                String(body(6).dropLast(9)), body(7, beginning: "\(words)"), "\(words)", body(9),
            ]
        }()

        @Test("No output, page or argument of a worker contains a secret, a device token or a payload")
        func nothing() throws {
            let broker = try PrivateBroker()
            try broker.control("add_user", "worker", Self.password)
            try broker.control("set_permissions", "-p", "/", "worker", ".*", ".*", ".*")
            let stage = try Stage(broker: broker.url, script: "token 4e7*: 400 BadCollapseId")
            var settings = Stage.Settings()
            settings.broker = broker.url.replacing("guest:guest", with: "worker:\(Self.password)")
            let token = try stage.directory.write(Self.adminToken, to: "admin-token")
            settings.admin = "{ listen: \"127.0.0.1:0\", token_file: \(token) }"
            settings.more = "log: { level: trace }"
            let worker = try stage.start(settings)
            var messages = Self.bodies.enumerated().map { stage.requests.message($0, to: stage.quorumQueue, body: $1) }
            messages[messages.count - 1].properties.replyTo = Array("no-queue".utf8)
            try stage.client.publish(messages)
            var outcomes: [String] = []
            try stage.client.consume([stage.resultQueue]) { delivery in
                outcomes.append(try Conservation.Result(delivery).outcome)
                return outcomes.count == Self.bodies.count - 1
            }
            let failures = outcomes.filter { $0 == "rejected" || $0 == "invalid" }.count
            try stage.client.waitUntilLeft(stage.deadLetterQueue, by: worker, messages: failures + 1)
            #expect(Set(outcomes) == ["accepted", "unregistered", "rejected", "invalid"])
            // A password that is wrong from now on.
            try broker.control("change_password", "worker", "another")
            try broker.control("close_all_connections", "password")
            try worker.waitForLine(.errors, within: .seconds(60)) { $0.contains("check user, password") }

            let arguments = FileManager.default.contents(atPath: "/proc/\(worker.processID)/cmdline") ?? Data()
            var said = try ["/metrics", "/readyz", "/livez", "/state", "/", "/nothing"].map {
                try worker.page($0, ["--header", "Authorization: Bearer \(Self.adminToken)"]).body
            }
            worker.signal(SIGTERM)
            try worker.waitForExit()
            settings.broker = nil
            let file = try stage.write(settings)
            for command in [["check"], ["dead-letters", "list"], ["dead-letters", "show"]] {
                said.append(try ChildProcess.run(stage.binary, command + ["--config", file]))
            }
            said += [String(decoding: arguments, as: UTF8.self), worker.text(.errors), worker.text()]

            let key = try #require(
                try String(contentsOfFile: stage.directory.file("AuthKey.p8"), encoding: .utf8)
                    .split(separator: "\n").dropFirst().first)
            let tokens = Self.bodies.indices.map { String(Requests.deviceToken($0).suffix(40)) }
            #expect(said.joined().contains("harebell_notifications_total"))
            #expect(said.joined().contains("harebell-result"))
            // A provider token begins with the base64 of `{"alg"`.
            for secret in [Self.password, Self.adminToken, Self.words, String(key), "eyJhbGci"] + tokens {
                for text in said { #expect(!text.contains(secret), "\(secret) in \(text.prefix(10_000))") }
            }
        }
    }
}
