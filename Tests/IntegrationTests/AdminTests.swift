import AMQP
import Foundation
import TestSupport
import Testing

extension ProcessTests {
    /// The admin server of `harebell run`, queried with curl; see `docs/operate/observability.md`.
    @Suite("Admin server")
    struct AdminTests {
        private static let anyPort = "{ listen: \"127.0.0.1:0\" }"
        /// For curl, when the token is `open-sesame`.
        private static let authorization = ["--header", "Authorization: Bearer open-sesame"]

        /// The JSON of `/readyz` once its status is `status`.
        private static func readiness(
            _ worker: ChildProcess, status: Int, _ arguments: [String] = []
        ) throws -> [String: Any] {
            try eventually("readiness \(status); \(worker.report)", within: .seconds(40)) {
                let page = try worker.page("/readyz", arguments)
                guard page.status == status else { return nil }
                return try JSONSerialization.jsonObject(with: Data(page.body.utf8)) as? [String: Any]
            }
        }

        @Test("A worker waits for its broker, is ready with it, reports what is missing without it, and stays live")
        func readiness() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            try broker.stop()
            let worker = try stage.launch(Stage.Settings(admin: Self.anyPort))
            try worker.waitForLine(.errors) { $0.contains("the consuming connection cannot be opened; trying again") }
            #expect(worker.text(.errors).contains("Connection refused"))
            #expect(worker.text().isEmpty)
            try broker.start()
            try worker.waitForLine("ready", within: .seconds(60))
            let ready = try Self.readiness(worker, status: 200)
            #expect(ready["missing"] as? [String] == [])
            try broker.stop()
            let missing = try #require(try Self.readiness(worker, status: 503)["missing"] as? [String])
            #expect(
                missing.contains { $0.hasPrefix("queue \(stage.quorumQueue) is consumed by 0 of 1 workers since ") })
            #expect(try worker.page("/livez").status == 200)
            #expect(try PrometheusPage(worker.page("/metrics").body).sum("harebell_publishing") == 0)
            try broker.start()
            _ = try Self.readiness(worker, status: 200)
            try worker.end()
        }

        @Test("A missing dead-letter queue makes a worker not ready before any request fails, until it is declared")
        func deadLetters() throws {
            let stage = try Stage(script: "")
            try stage.client.ask(.deleteQueue(stage.deadLetterQueue))
            let worker = try stage.start(Stage.Settings(admin: Self.anyPort))
            try eventually("the missing queue; \(worker.report)", within: .seconds(20)) {
                let missing = try Self.readiness(worker, status: 503)["missing"] as? [String]
                return missing == ["no queue receives what is published to \(stage.deadLetterQueue)"] ? true : nil
            }
            try stage.client.declare(stage.deadLetterQueue, ["x-queue-type": .string("quorum")])
            _ = try Self.readiness(worker, status: 200)
            try worker.end()
        }

        @Test("With a token configured, only /livez and the dashboard work without it, and no log shows it")
        func token() throws {
            let stage = try Stage(script: "")
            let file = try stage.directory.write("open-sesame\n", to: "token")
            var settings = Stage.Settings(admin: "{ listen: \"0.0.0.0:0\", token_file: \(file) }")
            let worker = try stage.start(settings)
            let port = try #require(try worker.adminAddress().split(separator: ":").last)
            #expect(try worker.adminAddress() == "0.0.0.0:\(port)")
            // A started worker may not be connected to APNs yet.
            _ = try Self.readiness(worker, status: 200, Self.authorization)
            for path in ["/metrics", "/readyz", "/state", "/nothing"] {
                #expect(try worker.page(path).status == 401)
                let right = try worker.page(path, Self.authorization)
                #expect(right.status == (path == "/nothing" ? 404 : 200))
            }
            #expect(try worker.page("/livez").status == 200)
            let page = try worker.page("/")
            #expect(page.status == 200)
            #expect(page.body.hasPrefix("<!doctype html>"))
            #expect(!page.body.contains("sesame"))
            // The port that the worker was assigned.
            settings.admin = "{ listen: \"0.0.0.0:\(port)\", token_file: \(file) }"
            let probe = ["ready", "--config", try stage.write(settings, to: "probe.yaml")]
            let ready = try ChildProcess.run(stage.binary, probe)
            #expect(ready.contains("\"ready\":true") && !ready.contains("sesame"))
            try worker.end()
            #expect(!worker.report.contains("sesame"))
            let late = try ChildProcess(stage.binary, probe)
            #expect(try late.waitForExit() == .exited(69), "\(late.report)")
            #expect(late.text(.errors).contains("0.0.0.0:\(port): Connection refused"), "\(late.report)")
        }

        @Test("A port in use disables only a worker's admin pages, a foreign address ends it with 78")
        func cannotListen() throws {
            let stage = try Stage(script: "")
            var settings = Stage.Settings(admin: Self.anyPort)
            let worker = try stage.start(settings)
            settings.admin = "{ listen: \"\(try worker.adminAddress())\" }"
            let second = try stage.start(settings)
            #expect(second.text(.errors).contains("Address already in use"))
            #expect(second.text(.errors).contains("its own address (admin.listen)"))
            for ready in [second, worker] { try ready.end() }
            let file = try stage.directory.write("token", to: "token")
            settings.admin = "{ listen: \"192.0.2.1:9464\", token_file: \(file) }"
            let third = try stage.launch(settings)
            #expect(try third.waitForExit() == .exited(78))
            #expect(third.text(.errors).contains("Cannot assign requested address"))
        }
    }
}
