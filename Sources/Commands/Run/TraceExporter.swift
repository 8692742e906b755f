package import Configuration
package import Core
import DequeModule
package import Logging
package import Monitoring
package import Pipeline
import Runtime
package import TLS

/// Sends the workers' spans to the collector, one batch after the other. A collector that is slow, refuses or is absent
/// costs spans only.
package final class TraceExporter {
    /// Until a batch that failed is sent again, once.
    package static let retryPause = Duration.seconds(5)
    /// Spans that wait; more are dropped.
    package static let maximumQueued = 16_384
    /// Spans of one export.
    private static let batchSize = 2048
    /// How long fewer spans than a batch wait.
    package static let interval = Duration.seconds(1)
    /// How long the process waits for the last spans at its end.
    package static let lastExport = Duration.seconds(3)
    /// OpenTelemetry's default timeout of an export (`OTEL_EXPORTER_OTLP_TIMEOUT`).
    private static let timeout = Duration.seconds(10)

    private struct Export {
        let body: [UInt8]
        let count: Int
        var isRetry = false
        /// `nil` between the attempts.
        var request: HTTPRequest?
    }

    private let settings: Configuration.Tracing
    private let context: TLSContext?
    private let network: any Network
    private let log: Logger
    private let resource: [TraceSpan.Attribute]
    private var spans = Deque<TraceSpan>()
    /// When fewer spans than a batch are exported.
    private var due: Instant?
    package private(set) var counts = SpanCounts()
    private var export: Export?
    private var retryAt: Instant?
    /// Whether the last attempt failed; only the first of several failures is logged.
    private var isFailing = false
    private var isEnding = false
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

    private var nextExport: Instant? { spans.count >= Self.batchSize ? .distantPast : due }

    /// The workers have ended: sends what is left, for ``lastExport`` at most.
    package func endSoon(at now: Instant) {
        guard !isEnding else { return }
        isEnding = true
        lastLimit = now + Self.lastExport
    }

    /// Whether nothing is left.
    package var isIdle: Bool { export == nil && spans.isEmpty }

    package var nextDeadline: Instant? {
        [lastLimit, retryAt, export == nil ? nextExport : nil].compactMap(\.self).min()
    }

    /// Does what is due; called in each turn.
    package func step(at now: Instant) {
        if let result = export?.request?.result { ended(result, at: now) }
        if let lastLimit, lastLimit <= now { giveUp() }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            send(at: now)
        } else if export == nil, !spans.isEmpty, isEnding || nextExport.map({ $0 <= now }) ?? false {
            let batch = Array(spans.prefix(Self.batchSize))
            spans.removeFirst(batch.count)
            due = spans.isEmpty ? nil : now + Self.interval
            export = Export(body: OTLPEncoder.request(batch, resource: resource), count: batch.count)
            send(at: now)
        }
    }

    private func send(at now: Instant) {
        guard let export else { return }
        // Source: OpenTelemetry protocol 1.9, "OTLP/HTTP".
        let head = """
            POST /v1/traces HTTP/1.1\r
            Host: \(settings.endpoint)\r
            User-Agent: harebell/\(Version.text)\r
            Content-Type: application/json\r
            Content-Length: \(export.body.count)\r
            Connection: close\r
            \r\n
            """
        let request = HTTPRequest(
            Array(head.utf8) + export.body, to: settings.endpoint, context: context, timeout: Self.timeout, at: now)
        self.export?.request = request
        network.connect(request, to: settings.endpoint, timeout: Self.timeout)
    }

    private func ended(_ result: Result<HTTPRequest.Response, HTTPRequest.Failure>, at now: Instant) {
        guard let export else { return }
        switch result {
        case .success(let response) where 200..<300 ~= response.status:
            isFailing = false
            finish(export, rejected: min(OTLPEncoder.rejectedSpans(in: response.body), export.count))
        case .success(let response):
            // Source: OpenTelemetry protocol 1.9, "Retryable Response Codes".
            let mayRetry = [429, 502, 503, 504].contains(response.status)
            failed(export, "HTTP \(response.status)", mayRetry: mayRetry, at: now)
        case .failure(.transport(let reason)): failed(export, reason, mayRetry: true, at: now)
        case .failure(.timeout): failed(export, "no response within \(Self.timeout)", mayRetry: true, at: now)
        case .failure(.notHTTP), .failure(.tooLong):
            failed(
                export,
                "the response is not HTTP/1.1, or not complete: check that tracing.endpoint takes OTLP over HTTP "
                    + "(port 4318)", mayRetry: true, at: now)
        }
    }

    private func failed(_ export: Export, _ reason: String, mayRetry: Bool, at now: Instant) {
        if !isFailing {
            isFailing = true
            log.warning(
                "spans cannot be exported; trying again",
                metadata: [
                    "error.message": "\(reason)", "server.address": "\(settings.endpoint.host)",
                    "server.port": .stringConvertible(settings.endpoint.port),
                ])
        }
        guard mayRetry, !export.isRetry, !isEnding else { return finish(export, rejected: export.count) }
        self.export?.isRetry = true
        self.export?.request = nil
        retryAt = now + Self.retryPause
    }

    private func giveUp() {
        lastLimit = nil
        retryAt = nil
        if let export {
            if let request = export.request { network.disconnect(request) }
            finish(export, rejected: export.count)
        }
        counts.dropped += UInt64(spans.count)
        spans = []
        due = nil
    }

    private func finish(_ export: Export, rejected: Int) {
        counts.exported += UInt64(export.count - rejected)
        counts.dropped += UInt64(rejected)
        self.export = nil
    }
}
