import Commands
import Core
import Logging
import Monitoring
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline

/// Collectors that take spans, and such that do not.
@Suite("Export of spans")
struct TraceExporterTests {
    private static let collector = Endpoint(host: "collector", port: 4318)

    private final class Stage {
        let network: MemoryNetwork
        let exporter: TraceExporter
        let lines = LogLines()
        private(set) var requests: [String] = []
        /// The last one repeats; `nil` for silence.
        var responses: [String?]
        var isAbsent = false

        init(_ responses: [String?] = []) throws {
            self.responses = responses
            network = MemoryNetwork { _ in nil }
            let log = lines
            exporter = try TraceExporter(
                Configuration.Tracing(endpoint: collector, usesTLS: false, sampleRatio: 1), network,
                resource: [("service.name", .text("harebell"))], log: Logger(label: "test") { _ in log })
            network.accept = { [unowned self] _ in
                guard !isAbsent else { return nil }
                let hasLength = responses.first??.contains("Content-Length") == true
                return HTTPPeer(closes: !hasLength) { [unowned self] request in
                    guard request.hasSuffix("]}]}]}") else { return nil }
                    requests.append(request)
                    return self.responses.count > 1 ? self.responses.removeFirst() : self.responses[0]
                }
            }
        }

        func add(_ count: Int) throws {
            let context = try #require(
                TraceContext(ArraySlice("00-0af7651916cd43dd8448eb211c80319c-00ad6b7169203331-01".utf8)))
            let span = TraceSpan(context: context, parent: nil, name: "n", kind: .client, time: 1...2, attributes: [])
            exporter.add(Tracer.Batch(spans: Array(repeating: span, count: count)), at: network.now)
        }

        func pass(_ duration: Duration) {
            network.advance(by: duration, deadline: { self.exporter.nextDeadline }) {
                self.exporter.step(at: self.network.now)
                return false
            }
        }

        func expect(exported: UInt64, dropped: UInt64, _ location: SourceLocation = #_sourceLocation) {
            #expect(exporter.counts.exported == exported, sourceLocation: location)
            #expect(exporter.counts.dropped == dropped, sourceLocation: location)
        }
    }

    private static func response(_ status: String, _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test("A batch is one POST of JSON")
    func accepted() throws {
        let stage = try Stage([Self.response("200 OK", "{\"partialSuccess\":{}}")])
        try stage.add(3)
        stage.pass(TraceExporter.interval - .milliseconds(1))
        #expect(stage.requests.isEmpty)
        stage.pass(.milliseconds(1))
        stage.expect(exported: 3, dropped: 0)
        let request = try #require(stage.requests.first)
        #expect(stage.requests.count == 1 && stage.lines.all.isEmpty)
        #expect(request.hasPrefix("POST /v1/traces HTTP/1.1\r\nHost: collector:4318\r\n"))
        let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts[0].contains("Content-Type: application/json\r\nContent-Length: \(parts[1].utf8.count)\r\n"))
        #expect(parts[1].split(separator: "\"traceId\"").count == 4)
    }

    @Test("A full batch does not wait; a response may have chunks or no length, or take only some spans")
    func partly() throws {
        let stage = try Stage()
        let body = "{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}"
        for response in [
            Self.response("200 OK", body), "HTTP/1.1 200 OK\r\n\r\n\(body)",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n\(body)\r\n0\r\n\r\n",
        ] {
            stage.responses = [response]
            try stage.add(2048)
            stage.pass(.milliseconds(1))
        }
        stage.expect(exported: 6138, dropped: 6)
    }

    @Test("Refused spans are lost, and logged once until a success", arguments: ["300 Choices", "503 Unavailable"])
    func refusing(status: String) throws {
        let stage = try Stage([Self.response(status), Self.response("200 OK"), Self.response(status)])
        for _ in 0..<20 {
            try stage.add(1)
            stage.pass(TraceExporter.interval)
        }
        stage.expect(exported: 1, dropped: 19)
        #expect(stage.requests.count == 20)
        let lines = stage.lines.all
        #expect(lines.map(\.message) == Array(repeating: "spans cannot be exported", count: 2), "each time")
        #expect(lines.first?.metadata["error.message"]?.description == "HTTP \(status.prefix(3))")
        try stage.add(5000)
        stage.pass(TraceExporter.interval)
        #expect(stage.requests.count == 21, "one batch in each interval")
    }

    @Test("A collector that is absent, silent or speaks no HTTP costs spans, in bounded memory", arguments: 0..<3)
    func unusable(kind: Int) throws {
        let stage = try Stage()
        stage.isAbsent = kind == 0
        stage.responses = [kind == 1 ? nil : "220 mail.example.com ESMTP\r\n\r\n"]
        let total = TraceExporter.maximumQueued * 3
        for _ in 0..<(total / 1024) { try stage.add(1024) }
        stage.expect(exported: 0, dropped: UInt64(total - TraceExporter.maximumQueued))
        stage.pass(.seconds(1000))
        stage.expect(exported: 0, dropped: UInt64(total))
        #expect(stage.exporter.isIdle && stage.network.links.isEmpty)
        #expect((1...8).contains(stage.lines.all.count))
        let reason = stage.lines.all.first?.metadata["error.message"]?.description ?? ""
        #expect(reason.contains("check that tracing.endpoint takes OTLP over HTTP (port 4318)") == (kind == 2))
        #expect((reason == "no response within 10.0 seconds") == (kind == 1), "\(reason)")
        stage.isAbsent = false
        stage.responses = [Self.response("200 OK")]
        try stage.add(1)
        stage.pass(TraceExporter.interval)
        stage.expect(exported: 1, dropped: UInt64(total))
    }

    @Test("At the end the last spans are exported without a wait, or given up after a limit")
    func end() throws {
        for response in [Self.response("200 OK"), nil] {
            let stage = try Stage([response])
            try stage.add(1)
            stage.exporter.endSoon(at: stage.network.now)
            stage.pass(.zero)
            #expect(stage.requests.count == 1 && stage.exporter.isIdle == (response != nil))
            try stage.add(1)
            stage.pass(TraceExporter.lastExport)
            #expect(stage.exporter.isIdle && stage.network.links.isEmpty)
            stage.expect(exported: response == nil ? 0 : 2, dropped: response == nil ? 2 : 0)
        }
    }
}
