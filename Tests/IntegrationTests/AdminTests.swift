import AMQP
import Core
import Foundation
import Simulator
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// The admin server of `harebell run`, queried with curl; see `docs/operate/observability.md`.
    @Suite("Admin server")
    struct AdminTests {
        private static let anyPort = "{ listen: \"127.0.0.1:0\" }"
        /// For curl, when the token is `open-sesame`.
        private static let authorization = ["--header", "Authorization: Bearer open-sesame"]

        private struct Page {
            let status: Int
            let body: String
        }

        private static func get(_ worker: ChildProcess, _ path: String, _ arguments: [String] = []) throws -> Page {
            let text = try ChildProcess.run(
                "/usr/bin/curl",
                ["--silent", "--show-error", "--max-time", "20", "--write-out", "\n%{http_code}"] + arguments
                    + ["http://\(try worker.adminAddress())\(path)"])
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return Page(
                status: Int(lines.last ?? "") ?? 0, body: lines.dropLast().map { "\($0)\n" }.joined())
        }

        private static func metrics(_ worker: ChildProcess, _ arguments: [String] = []) throws -> PrometheusPage {
            let page = try get(worker, "/metrics", arguments)
            #expect(page.status == 200)
            return try PrometheusPage(String(page.body.dropLast(page.body.hasSuffix("\n\n") ? 1 : 0)))
        }

        /// The JSON of `/readyz` once its status is `status`.
        private static func readiness(
            _ worker: ChildProcess, status: Int, _ arguments: [String] = []
        ) throws -> [String: Any] {
            try eventually("readiness \(status); \(worker.report)", within: .seconds(40)) {
                let page = try get(worker, "/readyz", arguments)
                guard page.status == status else { return nil }
                return try JSONSerialization.jsonObject(with: Data(page.body.utf8)) as? [String: Any]
            }
        }

        @Test("After a load the metrics agree with the results and APNs")
        func load() throws {
            let script = """
                token bad0*: 400 BadDeviceToken
                token 4e7*: 400 BadCollapseId
                every 25 requests, attempt 1: rst REFUSED_STREAM
                every 40 requests, attempt 1: rst INTERNAL_ERROR
                after 90 requests: goaway
                """
            let stage = try Stage(script: script)
            var settings = Stage.Settings()
            settings.workers = 2
            settings.admin = Self.anyPort
            let worker = try stage.start(settings)
            let count = 300
            try stage.client.publish(
                (0..<count).map { index in
                    let queue = index % 2 == 0 ? stage.quorumQueue : stage.classicQueue
                    switch index % 30 {
                    case 7: return stage.requests.message(index, to: queue, body: "{")
                    case 11:
                        return stage.requests.message(index, to: queue, body: Requests.body(index, beginning: "4e7"))
                    case 13:
                        return stage.requests.message(index, to: queue, body: Requests.body(index, beginning: "bad0"))
                    default: return stage.requests.message(index, to: queue)
                    }
                })
            var outcomes: [String: Double] = [:]
            var responded = 0
            try stage.client.consume([stage.resultQueue]) { delivery in
                outcomes[try Conservation.Result(delivery).outcome, default: 0] += 1
                responded += 1
                return responded == count
            }
            // The last settlement follows the last confirm.
            let page = try eventually("the last settlement; \(worker.report)") {
                let page = try Self.metrics(worker)
                return page.sum("harebell_unsettled") == 0 ? page : nil
            }
            #expect(outcomes.keys.sorted() == ["accepted", "invalid", "rejected", "unregistered"])
            for (outcome, expected) in outcomes {
                #expect(page.sum("harebell_notifications_total", ["outcome": outcome]) == expected, "\(outcome)")
            }
            #expect(page.sum("harebell_notifications_total") == Double(count))
            #expect(
                page.sum("harebell_notifications_total", ["topic": Requests.topic, "reason": "BadCollapseId"]) == 10)
            for queue in [stage.quorumQueue, stage.classicQueue] {
                #expect(page.sum("harebell_deliveries_total", ["queue": queue]) == Double(count / 2))
                #expect(page.sum("harebell_consuming", ["queue": queue]) == 2)
                #expect(page.sum("harebell_prefetch", ["queue": queue]) == Double(2 * Stage.prefetch))
            }
            let seen = stage.simulator.ledger.statistics
            #expect(page.sum("harebell_goaways_total") == Double(seen.goaways))
            #expect(seen.goaways > 0)
            let resends = try #require(page.sum("harebell_retries_total", ["kind": "resend"]))
            let backoffs = try #require(page.sum("harebell_retries_total", ["kind": "backoff"]))
            #expect(resends + backoffs >= Double(seen.resets))
            #expect(backoffs > 0)
            #expect(page.sum("harebell_uncertain_total") == backoffs)
            #expect(page.sum("harebell_apns_seconds_count") == Double(seen.responses.values.reduce(0, +)))
            #expect(page.sum("harebell_request_seconds_count") == Double(count))
            #expect(page.sum("harebell_dead_letters_total") == (outcomes["invalid"] ?? 0) + (outcomes["rejected"] ?? 0))
            #expect(page.sum("harebell_unconfirmed") == 0)
            #expect(page.sum("harebell_publishing") == 2)
            let age = try #require(page.sum("harebell_provider_token_age_seconds", ["topic": Requests.topic]))
            #expect(age >= 0 && age < 600)
            try worker.end()
            try stage.removeQueues()
        }

        @Test("A worker is ready while it has its broker, reports what is missing without it, and stays live")
        func readiness() throws {
            let broker = try PrivateBroker()
            let stage = try Stage(broker: broker.url, script: "")
            var settings = Stage.Settings()
            settings.admin = Self.anyPort
            let worker = try stage.start(settings)
            let ready = try Self.readiness(worker, status: 200)
            #expect(ready["missing"] as? [String] == [])
            try broker.stop()
            let missing = try #require(try Self.readiness(worker, status: 503)["missing"] as? [String])
            #expect(
                missing.contains { $0.hasPrefix("queue \(stage.quorumQueue) is consumed by 0 of 1 workers since ") })
            #expect(try Self.get(worker, "/livez").status == 200)
            #expect(try Self.metrics(worker).sum("harebell_publishing") == 0)
            try broker.start()
            _ = try Self.readiness(worker, status: 200)
            try worker.end()
        }

        @Test("With a token configured, only /livez and the dashboard work without it, and no log shows it")
        func token() throws {
            let stage = try Stage(script: "")
            let file = try stage.directory.write("open-sesame\n", to: "token")
            var settings = Stage.Settings()
            settings.admin = "{ listen: \"0.0.0.0:0\", token_file: \(file) }"
            let worker = try stage.start(settings)
            let port = try #require(try worker.adminAddress().split(separator: ":").last)
            #expect(try worker.adminAddress() == "0.0.0.0:\(port)")
            // A started worker may not be connected to APNs yet.
            _ = try Self.readiness(worker, status: 200, Self.authorization)
            for path in ["/metrics", "/readyz", "/state", "/nothing"] {
                #expect(try Self.get(worker, path).status == 401)
                let right = try Self.get(worker, path, Self.authorization)
                #expect(right.status == (path == "/nothing" ? 404 : 200))
            }
            #expect(try Self.get(worker, "/livez").status == 200)
            let page = try Self.get(worker, "/")
            #expect(page.status == 200)
            #expect(page.body.hasPrefix("<!doctype html>"))
            #expect(!page.body.contains("sesame"))
            // It only reads.
            for path in ["/", "/livez", "/metrics", "/readyz", "/state"] {
                for method in ["POST", "PUT", "PATCH", "DELETE"] {
                    let change = try Self.get(worker, path, Self.authorization + ["--request", method])
                    #expect(change.status == 405, "\(method) \(path)")
                }
            }
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
            try stage.removeQueues()
        }

        @Test("A port in use disables only a worker's admin pages, a foreign address ends it with 78")
        func cannotListen() throws {
            let stage = try Stage(script: "")
            var settings = Stage.Settings()
            settings.admin = Self.anyPort
            let worker = try stage.start(settings)
            settings.admin = "{ listen: \"\(try worker.adminAddress())\" }"
            let second = try stage.start(settings)
            #expect(second.text(.errors).contains("Address already in use"))
            #expect(second.text(.errors).contains("its own address (admin.listen)"))
            for ready in [second, worker] {
                try ready.end()
            }
            let file = try stage.directory.write("token", to: "token")
            settings.admin = "{ listen: \"192.0.2.1:9464\", token_file: \(file) }"
            let third = try stage.launch(settings)
            #expect(try third.waitForExit() == .exited(78))
            #expect(third.text(.errors).contains("Cannot assign requested address"))
            try stage.removeQueues()
        }
    }
}
