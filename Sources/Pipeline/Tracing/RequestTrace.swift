import AMQP
package import APNs
package import Core

package final class RequestTrace {
    /// Spans of one request, so that a large fan-out leaves room for others; more are dropped.
    package static let maximumSpans = 256
    /// In milliseconds since 1970, the year 2096: a wrong clock must not overflow nanoseconds.
    private static let latestTime: Int64 = 4_000_000_000_000

    /// What results, retries and dead letters continue.
    let context: TraceContext
    private let parent: UInt64?
    private let arrived: Moment
    private let tracer: Tracer
    private var spans = 0
    /// When the last attempt of each notification ended, by its position.
    private var attemptEnds: [Int: Instant] = [:]
    /// The outcome, `mixed` where notifications differ.
    private var outcome: StaticString?
    private var failure: String?

    init(_ context: TraceContext, parent: UInt64?, _ arrived: Moment, _ tracer: Tracer) {
        self.context = context
        self.parent = parent
        self.arrived = arrived
        self.tracer = tracer
    }

    private func time(from start: Instant, to end: Instant) -> ClosedRange<Int64> {
        let base = min(max(arrived.wall.milliseconds, 0), Self.latestTime) * 1_000_000
        let start = max(start, arrived.instant)
        return base + (start - arrived.instant).nanoseconds...base + (max(end, start) - arrived.instant).nanoseconds
    }

    private func add(
        _ name: StaticString, _ kind: TraceSpan.Kind, from start: Instant, to end: Instant,
        _ attributes: [TraceSpan.Attribute] = []
    ) {
        spans += 1
        guard spans < Self.maximumSpans else { return tracer.drop() }
        let child = TraceContext(trace: context.trace, span: tracer.nextSpan(), continuing: context)
        tracer.add(
            TraceSpan(
                context: child, parent: context.span, name: name, kind: kind, time: time(from: start, to: end),
                attributes: attributes),
            at: end)
    }

    /// An attempt at APNs ended: adds its span, and one for the time that the notification had waited.
    func attempted(
        _ entry: InFlightNotification, _ end: APNsPool.AttemptEnd, on endpoint: Endpoint, sentAt: Instant,
        endedAt: Instant
    ) {
        let position = entry.position ?? 0
        let waitedSince = attemptEnds[position] ?? arrived.instant
        attemptEnds[position] = endedAt
        if waitedSince < sentAt { add("harebell wait", .internal, from: waitedSince, to: sentAt) }
        var method: StaticString = "POST"
        if case .management(let operation) = entry.notification.target { method = operation.method }
        var attributes: [TraceSpan.Attribute] = [
            ("http.request.method", .text(method.description)), ("server.address", .text(endpoint.host)),
            ("server.port", .integer(Int(endpoint.port))),
            ("harebell.apns_topic", .text(String(decoding: entry.topic, as: UTF8.self))),
            ("harebell.apns_id", .text(entry.id.description)),
        ]
        if case .device(let token) = entry.notification.target {
            attributes.append(("harebell.device_token", .text(token.description)))
        }
        switch end {
        case .responded(let response):
            attributes.append(("http.response.status_code", .integer(Int(response.status))))
            if !response.isSuccess {
                attributes.append(("error.type", .text(response.reason?.rawValue ?? "\(response.status)")))
            }
        case .lost(let loss):
            let error = loss.goawayReason?.rawValue ?? (loss.isRefused ? "REFUSED_STREAM" : "lost")
            attributes.append(("error.type", .text(error)))
            attributes.append(("harebell.processed", .text(loss.processed.name.description)))
        }
        add("harebell attempt", .client, from: sentAt, to: endedAt, attributes)
    }

    func concluded(_ report: Report, isFailure: Bool) {
        setOutcome(report.outcome.name)
        if isFailure, failure == nil { failure = report.reason?.rawValue ?? report.outcome.name.description }
    }

    func confirmed(_ pending: PendingPublication, at now: Instant) {
        let name: StaticString
        switch pending.kind {
        case .result: name = "harebell result"
        case .feedback: name = "harebell feedback"
        case .deadLetter: name = "harebell dead letter"
        case .retry, .postpone:
            name = "harebell retry"
            setOutcome("parked")
        }
        let exchange = String(decoding: pending.publication.exchange, as: UTF8.self)
        let routingKey = String(decoding: pending.publication.routingKey, as: UTF8.self)
        add(
            name, .producer, from: pending.since, to: now,
            Self.messaging("publish", type: "send", exchange.isEmpty ? routingKey : "\(exchange):\(routingKey)") + [
                ("messaging.rabbitmq.destination.routing_key", .text(routingKey))
            ])
    }

    /// Every result is confirmed: adds the request's own span.
    package func completed(_ delivery: Delivery, queue: String, at now: Instant) {
        var attributes = Self.messaging("process", type: "process", queue)
        attributes += [
            ("messaging.rabbitmq.destination.routing_key", .text(String(decoding: delivery.routingKey, as: UTF8.self))),
            ("messaging.message.body.size", .integer(delivery.body.count)),
        ]
        for (name, value): (StaticString, ArraySlice<UInt8>?) in [
            ("messaging.message.id", delivery.messageID),
            ("messaging.message.conversation_id", delivery.correlationID),
        ] {
            if let value, !value.isEmpty { attributes.append((name, .text(String(decoding: value, as: UTF8.self)))) }
        }
        if let outcome { attributes.append(("harebell.outcome", .text(outcome.description))) }
        if let failure { attributes.append(("error.type", .text(failure))) }
        tracer.add(
            TraceSpan(
                context: context, parent: parent, name: "harebell process", kind: .consumer,
                time: time(from: arrived.instant, to: now), attributes: attributes),
            at: now)
    }

    private func setOutcome(_ new: StaticString) {
        if let outcome, outcome.description != new.description { self.outcome = "mixed" } else { outcome = new }
    }

    /// Source: OpenTelemetry semantic conventions 1.30, messaging spans and RabbitMQ.
    private static func messaging(
        _ operation: String, type: String, _ destination: String
    ) -> [TraceSpan.Attribute] {
        [
            ("messaging.system", .text("rabbitmq")), ("messaging.operation.name", .text(operation)),
            ("messaging.operation.type", .text(type)), ("messaging.destination.name", .text(destination)),
        ]
    }
}

extension RequestPipeline {
    /// An attempt at APNs ended; see ``RequestTrace/attempted(_:_:on:sentAt:endedAt:)``.
    // Mutating, because a call of another module would copy the whole pipeline.
    package mutating func traceAttempt(
        _ handle: Handle, _ end: APNsPool.AttemptEnd, on endpoint: Endpoint, sentAt: Instant, endedAt: Instant
    ) {
        let entry = notifications[handle]
        entry.request.trace?.attempted(entry, end, on: endpoint, sentAt: sentAt, endedAt: endedAt)
    }
}
