import AMQP
import Core
import Foundation
import System
import TLS
import TestSupport
import Testing

extension ProcessTests {
    /// Traces of `harebell run`, received and decoded by OpenTelemetry's own messages; see `docs/operate/tracing.md`.
    @Suite("Traces")
    struct TracingTests {
        private static let trace = "0af7651916cd43dd8448eb211c80319c"
        private static let producer = "b7ad6b7169203331"

        private struct Span: Decodable {
            let service, trace, span, parent, name, kind: String
            let status: Int
            let start, end: UInt64
            let attributes: [String: String]
        }

        private func settings(_ stage: Stage, port: some CustomStringConvertible, scheme: String = "http")
            -> Stage.Settings
        {
            var settings = Stage.Settings(queues: [stage.quorumQueue])
            settings.more = "tracing: { endpoint: \"\(scheme)://127.0.0.1:\(port)\" }"
            return settings
        }

        private func port(of receiver: ChildProcess) throws -> Substring {
            try receiver.waitForLine { $0.hasPrefix("listening ") }.dropFirst("listening ".count)
        }

        private func request(_ stage: Stage) throws -> Delivery {
            var publication = stage.requests.message(1, to: stage.quorumQueue)
            let headers: FieldTable = ["traceparent": .string("00-\(Self.trace)-\(Self.producer)-01")]
            var properties = MessageProperties()
            properties.messageID = Array(stage.requests.messageID(1).utf8)
            properties.replyTo = Array(stage.resultQueue.utf8)
            properties.headers = headers
            publication = Publication(
                routingKey: publication.routingKey, properties: properties, body: publication.body)
            try stage.client.publish([publication])
            var result: Delivery?
            try stage.client.consume([stage.resultQueue]) {
                result = $0
                return true
            }
            return try #require(result)
        }

        @Test(
            "Producer, request, two attempts and result are one tree",
            .enabled(
                if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): opentelemetry-proto"))
        func tree() throws {
            let receiver = try ForeignClient.start("otlp_receiver.py")
            let stage = try Stage(script: "attempt 1: 503 ServiceUnavailable")
            let worker = try stage.start(settings(stage, port: port(of: receiver)))
            let result = try request(stage)
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(0), "\(worker.report)")
            let spans = try receiver.text().split(separator: "\n").dropFirst().map {
                try JSONDecoder().decode(Span.self, from: Data($0.utf8))
            }
            #expect(spans.allSatisfy { $0.service == "harebell" && $0.trace == Self.trace }, "\(receiver.report)")
            func named(_ name: String) -> [Span] {
                spans.filter { $0.name == "harebell \(name)" }.sorted { $0.start < $1.start }
            }
            let rounds = named("process")
            let attempts = named("attempt")
            try #require(rounds.count == 2 && attempts.count == 2, "\(receiver.report)")
            #expect(rounds.map(\.parent) == [Self.producer, rounds[0].span])
            #expect(attempts.map(\.parent) == rounds.map(\.span))
            #expect(attempts.map { $0.attributes["http.response.status_code"] } == ["503", "200"])
            #expect(attempts.map(\.status) == [2, 0])
            #expect(named("retry").map(\.parent) == [rounds[0].span])
            #expect(named("result").map(\.parent) == [rounds[1].span])
            #expect(
                Set(spans.map(\.kind)).isSuperset(of: ["SPAN_KIND_CONSUMER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER"]))
            #expect(rounds[1].attributes["messaging.destination.name"] == stage.quorumQueue)
            guard case .text(let traceparent)? = result.header("traceparent") else {
                Issue.record("the result has no traceparent")
                return
            }
            #expect(String(decoding: traceparent, as: UTF8.self) == "00-\(Self.trace)-\(rounds[1].span)-01")
            #expect(!receiver.text().contains(Requests.deviceToken(1)), "device tokens are shortened")
            try stage.removeQueues()
        }

        @Test(
            "A collector with TLS gets spans if SSL_CERT_FILE has its authority; otherwise they are dropped",
            .enabled(
                if: TestEnvironment.foreignClientsPython != nil, "\(TestEnvironment.hint): opentelemetry-proto"),
            arguments: [true, false])
        func tls(isTrusted: Bool) throws {
            let stage = try Stage()
            let authority = CertificateAuthority(commonName: "Collectors", now: SystemClock.now().wall)
            let issued = authority.issue(addresses: ["127.0.0.1"], usage: .server)
            let receiver = try ForeignClient.start(
                "otlp_receiver.py",
                [
                    stage.directory.write(issued.certificatePEM, to: "collector.pem"),
                    stage.directory.write(issued.privateKeyPEM, to: "collector.key"),
                ])
            let authorityFile = try stage.directory.write(authority.certificatePEM, to: "authority.pem")
            var settings = settings(stage, port: try port(of: receiver), scheme: "https")
            settings.admin = "{ listen: \"127.0.0.1:0\" }"
            let worker = try stage.launch(settings, environment: isTrusted ? ["SSL_CERT_FILE": authorityFile] : [:])
            try worker.waitForLine("ready", within: .seconds(60))
            _ = try request(stage)
            let result = isTrusted ? "exported" : "dropped"
            try eventually("spans are \(result)", within: .seconds(30)) {
                let text = try ChildProcess.run(
                    "/usr/bin/curl", ["--silent", "--show-error", "http://\(worker.adminAddress())/metrics"])
                let spans = try PrometheusPage(text).sum("harebell_spans_total", ["result": result]) ?? 0
                return spans > 0 ? spans : nil
            }
            if isTrusted {
                try receiver.waitForLine { $0.contains("\"name\": \"harebell process\"") }
            } else {
                let line = try worker.waitForLine(.errors) { $0.contains("spans cannot be exported") }
                for part in [
                    "comes from \\\"Collectors\\\", an authority that is not trusted here",
                    "add the authority's certificate to a CA file, the file in SSL_CERT_FILE or the system's store",
                ] {
                    #expect(line.contains(part), "\(line)")
                }
                #expect(!receiver.text().contains("harebell"))
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(60)) == .exited(0), "\(worker.report)")
            try stage.removeQueues()
        }
    }
}
