package import Core
import Decoding
package import Logging

/// The consuming side of a worker: from a delivery to its request, and from the end of the request to the settlement.
///
/// The broker's prefetch limits the unsettled deliveries, and thereby everything that waits in a worker.
package struct Intake: ~Copyable {
    /// How much a worker takes from the broker.
    package enum Level: Sendable {
        /// Up to the prefetch.
        case full
        /// One message from each queue.
        case one
        case none
    }

    package var settings: PipelineSettings
    /// The counters of the intake.
    package private(set) var counters: PipelineCounters
    /// The durations that the intake measures.
    package private(set) var timings = Timings()
    private let actions: ActionQueue
    private var completed: CompletedRequests
    private var orphans = OrphanedRequests()
    /// Requests that a decoder process is decoding.
    private var asked = Slab<InFlightRequest>()
    /// Deferred requests, decoded again at their time.
    private var deferred = DeadlineQueue<InFlightRequest>()
    /// While only probes are consumed: whether one message from each queue is taken as a probe, and whether the first
    /// arrived.
    private var isProbing = false
    private var hasProbe = false
    private let log: Logger
    /// `nil` where nothing is traced.
    private let tracer: Tracer?

    /// The maximum of due items per turn; the rest follows in the next turn.
    private static let maximumDuePerTurn = 256

    package init(_ settings: PipelineSettings, _ actions: ActionQueue, log: Logger, tracer: Tracer? = nil) {
        self.tracer = tracer
        self.settings = settings
        self.actions = actions
        self.log = log
        counters = PipelineCounters(queues: settings.queues.count)
        completed = CompletedRequests(prefetch: settings.prefetch)
    }

    /// Unsettled deliveries.
    package var unsettled: Int { counters.unsettled }

    /// Whether more may be consumed in addition to what is held. A broker does not count the deliveries of a cancelled
    /// consumer, so each standstill could otherwise add another prefetch.
    package var hasRoom: Bool { counters.unsettled <= settings.prefetch }

    /// Whether a decoder process has requests that it has not decoded yet.
    package var isAsking: Bool { asked.count > 0 }

    /// The requests that are not decoded yet.
    package var requests: [InFlightRequest] {
        deferred.elements + asked.handles.map { asked[$0] }
    }

    package var nextDeadline: Instant? { deferred.earliest == .distantFuture ? nil : deferred.earliest }

    package mutating func expire(at now: Moment) {
        for _ in 0..<Self.maximumDuePerTurn {
            guard deferred.earliest <= now.instant, let request = deferred.popFirst() else { return }
            decode(request, at: now)
        }
    }

    // MARK: Deliveries

    /// A message arrived.
    package mutating func received(_ delivery: Delivery, at now: Moment) {
        let delivery = OwnHeaders(settings).screened(delivery)
        guard isNew(delivery, at: now) else { return }
        stopAfterProbe()
        timings.arrived(delivery, at: now.wall)
        let request = makeRequest(delivery, at: now)
        if delivery.redelivered, let count = poisonCount(delivery) { return giveUp(request, after: count) }
        decode(request, at: now)
    }

    /// A message arrived with a body larger than the configuration allows; the body was discarded.
    package mutating func receivedOversize(_ delivery: Delivery, bodySize: UInt64, at now: Moment) {
        let delivery = OwnHeaders(settings).screened(delivery)
        // Without a body, only a message id distinguishes it from others.
        let isNamed = delivery.messageID != nil
        guard isNew(delivery, isRecognizable: isNamed, at: now) else { return }
        stopAfterProbe()
        let limit = settings.maximumMessage
        let failure = DecodingFailure(
            "body: \(bodySize) bytes, more than broker.max_message_bytes (\(limit)) allows", limit: .body,
            known: APNsHeadersDecoder.known(of: delivery))
        actions.append(
            .refuse(
                makeRequest(delivery, at: now), failure,
                isNamed ? settings.notificationID(of: delivery) : nil))
    }

    /// The results and copies of a traced request continue its trace.
    private func makeRequest(_ delivery: Delivery, at now: Moment) -> InFlightRequest {
        let usesReplyTo = settings.queues[delivery.queue.index].decoder.usesReplyTo
        guard let trace = tracer?.trace(delivery, arrived: now) else {
            return InFlightRequest(delivery: delivery, arrived: now, usesReplyTo: usesReplyTo)
        }
        let request = InFlightRequest(
            delivery: delivery.settingHeader("traceparent", to: trace.context.traceparent), arrived: now,
            usesReplyTo: usesReplyTo)
        request.trace = trace
        return request
    }

    /// The number of earlier deliveries if it reaches the limit: the message may crash its consumers. Only quorum
    /// queues count. Source: rabbitmq.com/docs/quorum-queues (poison message handling).
    private func poisonCount(_ delivery: Delivery) -> Int64? {
        guard let count = delivery.deliveryCount, count >= settings.poisonDeliveries else { return nil }
        return count
    }

    /// A suspected poison message gets one result and a dead letter, without being decoded.
    private mutating func giveUp(_ request: InFlightRequest, after count: Int64) {
        request.open = 1
        log.error(
            "a message was delivered too often: it becomes a dead letter without decoding",
            metadata: request.delivery.traced(
                [
                    "messaging.destination.name": "\(settings.queues[request.delivery.queue.index].name)",
                    "deliveries": .stringConvertible(count),
                    "limit": "\(settings.poisonDeliveries)",
                ]))
        let report = Report(
            outcome: .undelivered, processed: .unknown,
            detail: "poison suspect: delivered \(count) times before and never settled; it was not decoded")
        actions.append(
            .conclude(Conclusion(request: request, id: settings.notificationID(of: request.delivery), report: report)))
    }

    /// Counts a delivery, and handles it if its request is in flight or has finished here.
    private mutating func isNew(_ delivery: Delivery, isRecognizable: Bool = true, at now: Moment) -> Bool {
        counters.deliveries[delivery.queue.index] += 1
        guard isRecognizable, !orphans.isEmpty || completed.hasSuspects(at: now.instant) else {
            counters.unsettled += 1
            return true
        }
        let key = RedeliveryKey(delivery)
        if !delivery.redelivered {
            completed.republished(key)
        } else if let request = orphans.adopt(key) {
            counters[.duplicatesAvoided] += 1
            request.delivery.epoch = delivery.epoch
            request.delivery.tag = delivery.tag
            return false
        } else if completed.absorbs(key, at: now.instant) {
            counters[.duplicatesAvoided] += 1
            actions.append(.settle(delivery, .ack))
            return false
        }
        counters.unsettled += 1
        return true
    }

    /// While only probes are consumed, one message is enough. Each queue may have sent one, and all are kept: returning
    /// the same one each time would use up its deliveries.
    private mutating func stopAfterProbe() {
        guard isProbing, !hasProbe else { return }
        hasProbe = true
        actions.append(.take(.none))
    }

    // MARK: Decoding

    private mutating func decode(_ request: InFlightRequest, at now: Moment) {
        let queue = settings.queues[request.delivery.queue.index]
        let delivery: Delivery
        do throws(DecodingFailure) {
            delivery = try request.delivery.readable(limit: settings.maximumMessage)
        } catch {
            return take(.reject(error), of: request, at: now)
        }
        guard let process = queue.process else {
            return take(queue.decoder.decode(delivery, at: now.wall), of: request, at: now)
        }
        actions.append(.ask(process, asked.insert(request), delivery))
    }

    /// The response of a decoder process.
    package mutating func decoded(_ handle: Handle, _ decoded: Decoded, at now: Moment) {
        take(decoded, of: asked.remove(handle), at: now)
    }

    private mutating func take(_ decoded: Decoded, of request: InFlightRequest, at now: Moment) {
        switch decoded {
        case .request(let decoded): actions.append(.start(decoded, request))
        case .ignore:
            counters[.ignored] += 1
            complete(request, at: now)
        case .reject(var failure):
            if failure.known == nil { failure.known = APNsHeadersDecoder.known(of: request.delivery) }
            let id = failure.known?.id ?? settings.notificationID(of: request.delivery)
            actions.append(.refuse(request, failure, id))
        case .later(let pause): actions.append(.postpone(request, pause))
        }
    }

    /// Holds an untried delivery as long as the consumer may leave it unacknowledged, then decodes it again.
    package mutating func decodeLater(_ request: InFlightRequest, for pause: Duration, at now: Moment) {
        deferred.insert(request, due: now.instant + min(pause, settings.longestDeferral))
    }

    // MARK: Settlement

    /// All parts of a request have ended: its delivery is acknowledged, unless the connection was lost.
    package mutating func complete(_ request: InFlightRequest, at now: Moment) {
        counters.unsettled -= 1
        timings.request.record(from: request.arrived.instant, to: now.instant)
        if let trace = request.trace {
            let queue = settings.queues[request.delivery.queue.index].name
            trace.completed(request.delivery, queue: queue, at: now.instant)
        }
        guard !request.isOrphan else { return completed.completedTooLate(orphans.remove(request)) }
        if let key = request.namedKey { completed.completed(key) }
        actions.append(.settle(request.delivery, .ack))
    }

    /// Returns an unsent request that can wait in its queue as well as in a retry queue.
    package mutating func requeue(_ request: InFlightRequest) {
        request.parked = []
        // The broker has already requeued an orphan.
        guard !request.isOrphan else { return drop(request) }
        counters.unsettled -= 1
        counters[.requeued] += 1
        actions.append(.settle(request.delivery, .requeue))
    }

    /// Returns the requests that only wait to be decoded again.
    package mutating func requeueDeferred() {
        for request in takeDeferred(where: \.isUntouched) { requeue(request) }
    }

    private mutating func takeDeferred(where isMeant: (InFlightRequest) -> Bool) -> [InFlightRequest] {
        var taken: [InFlightRequest] = []
        deferred.removeAll { request in
            guard isMeant(request) else { return false }
            taken.append(request)
            return true
        }
        return taken
    }

    // MARK: A lost connection

    /// The consuming connection, or the channel of one queue, was lost: the broker will redeliver everything
    /// unacknowledged.
    ///
    /// - Parameter unsettled: every unsettled request; duplicates are allowed.
    package mutating func consumerLost(queue: QueueID? = nil, _ unsettled: [InFlightRequest], at now: Moment) {
        completed.connectionLost(at: now.instant)
        for request in unsettled where queue == nil || queue == request.delivery.queue {
            orphans.insert(request)
        }
        for request in takeDeferred(where: \.isOrphan) { drop(request) }
    }

    /// Forgets an unsent request that the broker redelivers: the redelivery may reach another worker, and both would
    /// send it.
    package mutating func drop(_ request: InFlightRequest) {
        orphans.remove(request)
        counters.unsettled -= 1
    }

    // MARK: No app can send

    /// No app can send: the worker consumes only probes until one can.
    package mutating func suspend() {
        counters[.suspensions] += 1
        log.error(
            "no app can send: only probes are consumed, and what waits returns to its queue after hold_seconds",
            metadata: ["hold_seconds": .stringConvertible(settings.hold.components.seconds)])
        isProbing = false
        actions.append(.take(.none))
    }

    package mutating func resume() {
        log.notice("an app can send again: consuming resumes")
        isProbing = false
        actions.append(.take(.full))
    }

    /// The worker still consumes nothing after another check.
    ///
    /// - Parameter isProbeWanted: whether a paused app has no notification for its probe: one message is then taken.
    package mutating func stays(isProbeWanted: Bool) {
        guard !isProbing else {
            // The messages of the last probe have arrived by the next check.
            if hasProbe { isProbing = false }
            return
        }
        guard isProbeWanted, hasRoom else { return }
        isProbing = true
        hasProbe = false
        actions.append(.take(.one))
    }
}

extension Delivery {
    /// The number of earlier deliveries, if a quorum queue counts them. Before RabbitMQ 4.3 a nack counts as well.
    var deliveryCount: Int64? {
        if case .integer(let count)? = header("x-delivery-count") { count } else { nil }
    }

    /// The metadata of a log line about one request, with its trace. Source: OpenTelemetry, "Trace Context in non-OTLP
    /// Log Formats".
    func traced(_ metadata: Logger.Metadata) -> Logger.Metadata {
        guard case .text(let header)? = header("traceparent"), let context = TraceContext(header) else {
            return metadata
        }
        var text: [UInt8] = []
        text.append(context.trace)
        var metadata = metadata
        metadata["trace_id"] = "\(String(decoding: text, as: UTF8.self))"
        return metadata
    }
}
