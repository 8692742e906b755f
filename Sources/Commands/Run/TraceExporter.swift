package import Configuration
package import Core
import DequeModule
package import Logging
package import Monitoring
package import Pipeline
package import TLS

/// Sends the workers' spans to the collector, one batch after the other. A collector that is slow, refuses or is absent
/// costs spans only.
package final class TraceExporter {
    /// Spans that wait; more are dropped.
    package static let maximumQueued = 16_384
    private static let batchSize = 2048
    /// How long fewer spans than a batch wait.
    package static let interval = Duration.seconds(1)
    /// How long the process waits for the last spans at its end.
    package static let lastExport = Duration.seconds(3)
    /// OpenTelemetry's default timeout of an export (`OTEL_EXPORTER_OTLP_TIMEOUT`).
    private static let timeout = Duration.seconds(10)

    private let settings: Configuration.Tracing
    private let context: TLSContext?
    private let network: any Network
    private let log: Logger
    private let resource: [TraceSpan.Attribute]
    private var spans = Deque<TraceSpan>()
    /// When fewer spans than a batch are exported.
    private var due: Instant?
    package private(set) var counts = SpanCounts()
    /// The export in progress, with the number of its spans.
    private var export: (request: HTTPRequest, count: Int)?
    /// Whether the last export failed; only the first of several failures is logged.
    private var isFailing = false
    /// When it gives up; `nil` before the workers have ended.
    private var lastLimit: Instant?

    /// - Parameter resource: the attributes of this process.
    package init(
        _ settings: Configuration.Tracing, _ network: any Network, resource: [TraceSpan.Attribute], log: Logger
    ) throws(TLSError) {
        self.settings = settings
        self.network = network
        self.resource = resource
        self.log = log
        context = settings.usesTLS ? try TLSContext(role: .client, trust: .system) : nil
    }

    package func add(_ batch: Tracer.Batch, at now: Instant) {
        let taken = batch.spans.prefix(Self.maximumQueued - spans.count)
        if spans.isEmpty { due = now + Self.interval }
        spans.append(contentsOf: taken)
        counts.dropped += UInt64(batch.dropped + batch.spans.count - taken.count)
    }

    /// While the collector fails, one batch is tried in each interval, and the queue bridges the rest.
    private var nextExport: Instant? {
        lastLimit != nil || spans.count >= Self.batchSize && !isFailing ? .distantPast : due
    }

    /// The workers have ended: sends what is left, for ``lastExport`` at most.
    package func endSoon(at now: Instant) {
        lastLimit = lastLimit ?? now + Self.lastExport
    }

    /// Whether nothing is left.
    package var isIdle: Bool { export == nil && spans.isEmpty }

    package var nextDeadline: Instant? {
        isIdle ? nil : [lastLimit, export == nil ? nextExport : nil].compactMap(\.self).min()
    }

    /// Does what is due; called in each turn.
    package func step(at now: Instant) {
        if let export, let result = export.request.result {
            self.export = nil
            ended(result, of: export.count)
        }
        if let lastLimit, lastLimit <= now { giveUp() }
        guard export == nil, !spans.isEmpty, let nextExport, nextExport <= now else { return }
        let batch = Array(spans.prefix(Self.batchSize))
        spans.removeFirst(batch.count)
        due = spans.isEmpty ? nil : now + Self.interval
        export = (send(OTLPEncoder.request(batch, resource: resource), at: now), batch.count)
    }

    private func send(_ body: [UInt8], at now: Instant) -> HTTPRequest {
        // Source: OpenTelemetry protocol 1.9, "OTLP/HTTP".
        let head = """
            POST /v1/traces HTTP/1.1\r
            Host: \(settings.endpoint)\r
            User-Agent: harebell/\(Version.text)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r\n
            """
        let request = HTTPRequest(
            Array(head.utf8) + body, to: settings.endpoint, context: context, timeout: Self.timeout, at: now)
        network.connect(request, to: settings.endpoint, timeout: Self.timeout)
        return request
    }

    private func ended(_ result: Result<HTTPRequest.Response, HTTPRequest.Failure>, of count: Int) {
        switch result {
        case .success(let response) where 200..<300 ~= response.status:
            isFailing = false
            let rejected = min(OTLPEncoder.rejectedSpans(in: response.body), count)
            counts.exported += UInt64(count - rejected)
            counts.dropped += UInt64(rejected)
        case .success(let response): failed(count, "HTTP \(response.status)")
        case .failure(.transport(let reason)): failed(count, reason)
        case .failure(.timeout): failed(count, "no response within \(Self.timeout)")
        case .failure(.notHTTP), .failure(.tooLong):
            failed(
                count,
                "the response is not HTTP/1.1, or not complete: check that tracing.endpoint takes OTLP over HTTP "
                    + "(port 4318)")
        }
    }

    private func failed(_ count: Int, _ reason: String) {
        counts.dropped += UInt64(count)
        guard !isFailing else { return }
        isFailing = true
        log.warning(
            "spans cannot be exported",
            metadata: [
                "error.message": "\(reason)", "server.address": "\(settings.endpoint.host)",
                "server.port": .stringConvertible(settings.endpoint.port),
            ])
    }

    private func giveUp() {
        if let export {
            network.disconnect(export.request)
            self.export = nil
            counts.dropped += UInt64(export.count)
        }
        counts.dropped += UInt64(spans.count)
        spans = []
        due = nil
    }
}
