package import Core
import Decoding
package import Logging

/// What a worker takes from the broker, from a delivery to the request that it is, and from the end of that request to
/// the delivery's settlement.
///
/// The broker's prefetch bounds how many deliveries are unsettled, and with it everything that waits in a worker.
package struct Intake: ~Copyable {
    /// How much a worker takes from the broker.
    package enum Level: Sendable {
        /// What prefetch allows.
        case full
        /// One message of each queue.
        case one
        case none
    }

    package var settings: PipelineSettings
    /// As far as the intake counts.
    package private(set) var counters: PipelineCounters
    /// As far as the intake measures.
    package private(set) var timings = Timings()
    private let actions: ActionQueue
    private var completed: CompletedRequests
    private var orphans = OrphanedRequests()
    /// What a decoder in another process was asked about.
    private var asked = Slab<InFlightRequest>()
    /// What is decoded again when its time has come.
    private var deferred = DeadlineQueue<InFlightRequest>()
    /// Whether nothing is consumed, because no app can send.
    private var isSuspended = false
    /// While nothing is consumed: whether one message of each queue is taken as a probe, and whether the first one
    /// came.
    private var isProbing = false
    private var hasProbe = false
    private let log: Logger
    /// `nil` where nothing is traced.
    private let tracer: Tracer?

    /// The most that one turn does of what is due; the rest is due in the next.
    private static let maximumDuePerTurn = 256

    package init(_ settings: PipelineSettings, _ actions: ActionQueue, log: Logger, tracer: Tracer? = nil) {
        self.tracer = tracer
        self.settings = settings
        self.actions = actions
        self.log = log
        counters = PipelineCounters(queues: settings.queues.count)
        completed = CompletedRequests(prefetch: settings.prefetch)
    }

    /// Deliveries without a settlement.
    package var unsettled: Int { counters.unsettled }

    /// Whether more may be taken on top of what is held: a broker does not count what came to a consumer that was
    /// cancelled, so that each standstill could otherwise add as much as prefetch allows.
    package var hasRoom: Bool { counters.unsettled <= settings.prefetch }

    /// Whether a decoder in another process has not answered yet.
    package var isAsking: Bool { asked.count > 0 }

    /// Requests that are remembered after their end.
    package var remembered: Int { completed.count }

    /// Open requests whose connection is gone.
    package var orphaned: Int { orphans.count }

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
        guard isNew(delivery, at: now), isTaken(delivery) else { return }
        timings.arrived(delivery, at: now.wall)
        let request = makeRequest(delivery, at: now)
        if delivery.redelivered, let count = poisonCount(delivery) { return giveUp(request, after: count) }
        decode(request, at: now)
    }

    /// A message arrived whose body is larger than the configuration allows; its body was not kept.
    package mutating func receivedOversize(_ delivery: Delivery, bodySize: UInt64, at now: Moment) {
        let delivery = OwnHeaders(settings).screened(delivery)
        // Without its body it may look like another one: only a message id tells them apart.
        let isNamed = delivery.messageID != nil
        guard isNew(delivery, isRecognizable: isNamed, at: now), isTaken(delivery) else { return }
        let limit = settings.maximumMessage
        let failure = DecodingFailure(
            "body: \(bodySize) bytes, more than broker.maximum_message_bytes (\(limit)) allows", limit: .body)
        actions.append(
            .refuse(
                makeRequest(delivery, at: now), failure,
                isNamed ? settings.notificationID(of: delivery) : nil))
    }

    /// What comes of a traced request continues its trace.
    private func makeRequest(_ delivery: Delivery, at now: Moment) -> InFlightRequest {
        guard let trace = tracer?.trace(delivery, arrived: now) else {
            return InFlightRequest(delivery: delivery, arrived: now)
        }
        let request = InFlightRequest(
            delivery: delivery.settingHeader("traceparent", to: trace.context.traceparent), arrived: now)
        request.trace = trace
        return request
    }

    /// How often a message was delivered in vain, if that is more than chance: whoever reads it may die of it. Quorum
    /// queues count. Source: rabbitmq.com/docs/quorum-queues (poison message handling).
    private func poisonCount(_ delivery: Delivery) -> Int64? {
        guard case .integer(let count)? = delivery.header("x-delivery-count"), count >= settings.poisonDeliveries else {
            return nil
        }
        return count
    }

    /// A message that may be poison gets one result and a dead letter, and is not decoded.
    private mutating func giveUp(_ request: InFlightRequest, after count: Int64) {
        request.open = 1
        log.error(
            "a message was delivered too often: it becomes a dead letter unread",
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

    /// Counts a delivery, and takes care of it if its request is in flight here or finished here already.
    private mutating func isNew(_ delivery: Delivery, isRecognizable: Bool = true, at now: Moment) -> Bool {
        counters.deliveries[delivery.queue.index] += 1
        guard isRecognizable, completed.hasSuspects || !orphans.isEmpty else {
            counters.unsettled += 1
            return true
        }
        let key = RedeliveryKey(delivery)
        if !delivery.redelivered {
            completed.publishedAnew(key)
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

    /// A delivery came. While nothing is consumed it goes back, unless one was asked for as a probe: then each queue
    /// may have sent one, and all are taken. To give the same one back with every probe would use up its deliveries.
    ///
    /// - Returns: Whether it is to be worked on.
    private mutating func isTaken(_ delivery: Delivery) -> Bool {
        guard isSuspended else { return true }
        guard isProbing else {
            counters.unsettled -= 1
            counters[.requeued] += 1
            actions.append(.settle(delivery, .requeue))
            return false
        }
        if !hasProbe { actions.append(.take(.none)) }
        hasProbe = true
        return true
    }

    // MARK: Decoding

    private mutating func decode(_ request: InFlightRequest, at now: Moment) {
        let queue = settings.queues[request.delivery.queue.index]
        let delivery: Delivery
        do throws(DecodingFailure) {
            delivery = try request.delivery.decompressed(limit: settings.maximumMessage)
        } catch {
            return take(.reject(error), of: request, at: now)
        }
        guard let process = queue.process else {
            return take(queue.decoder.decode(delivery, at: now.wall), of: request, at: now)
        }
        actions.append(.ask(process, asked.insert(request), delivery))
    }

    /// The answer of a decoder that could not give it at once.
    package mutating func decoded(_ handle: Handle, _ answer: Decoded, at now: Moment) {
        take(answer, of: asked.remove(handle), at: now)
    }

    private mutating func take(_ answer: Decoded, of request: InFlightRequest, at now: Moment) {
        switch answer {
        case .request(let decoded): actions.append(.start(decoded, request))
        case .ignore:
            counters[.ignored] += 1
            complete(request, at: now)
        case .reject(let failure):
            actions.append(.refuse(request, failure, settings.notificationID(of: request.delivery)))
        case .later(let pause): actions.append(.putOff(request, pause))
        }
    }

    /// Keeps a delivery of which nothing was tried for as long as the broker may be left without an answer, then asks
    /// its decoder again.
    package mutating func hold(_ request: InFlightRequest, for pause: Duration, at now: Moment) {
        deferred.insert(request, due: now.instant + min(pause, settings.longestDeferral))
    }

    // MARK: Settlement

    /// Nothing of a request is open any more: it is acknowledged, unless its connection is gone.
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

    /// Gives a request back of which nothing was sent, and which can wait in its queue as well as in a retry queue.
    package mutating func giveBack(_ request: InFlightRequest) {
        request.parked = []
        // An orphan is in its queue already.
        guard !request.isOrphan else { return drop(request) }
        counters.unsettled -= 1
        counters[.requeued] += 1
        actions.append(.settle(request.delivery, .requeue))
    }

    /// Gives back what only waits to be decoded again.
    package mutating func giveBackDeferred() {
        for request in takeDeferred(where: \.isUntouched) { giveBack(request) }
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

    /// The consuming connection is gone, or its channel of one queue: the broker will deliver again what it counts as
    /// unacknowledged.
    ///
    /// - Parameter decoded: every request that is decoded and not settled; some may be named more than once.
    package mutating func consumerLost(queue: QueueID? = nil, _ decoded: [InFlightRequest], at now: Moment) {
        completed.connectionLost(at: now.instant)
        for request in requests + decoded where queue == nil || queue == request.delivery.queue {
            orphans.insert(request)
        }
        for request in takeDeferred(where: \.isOrphan) { drop(request) }
    }

    /// Forgets a request that the broker delivers again and nothing was done for: whoever gets it next may be another
    /// worker, and both would send it.
    package mutating func drop(_ request: InFlightRequest) {
        orphans.remove(request)
        counters.unsettled -= 1
    }

    // MARK: No app can send

    /// No app can send: nothing is consumed until one can.
    package mutating func suspend() {
        counters[.suspensions] += 1
        log.error(
            "no app can send: nothing is consumed until one can, and what was not sent goes back to its queue",
            metadata: ["hold_seconds": .stringConvertible(settings.hold.components.seconds)])
        isSuspended = true
        isProbing = false
        actions.append(.take(.none))
    }

    package mutating func resume() {
        log.notice("an app can send again: requests are consumed")
        isSuspended = false
        isProbing = false
        actions.append(.take(.full))
    }

    /// Nothing is consumed, and that is looked at again.
    ///
    /// - Parameter isProbeWanted: whether a paused app has nothing that could be its probe: then one message is taken.
    package mutating func stays(isProbeWanted: Bool) {
        guard !isProbing else {
            // What one look has asked for came before the next one.
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
    /// What a log line about one request says, with the trace that it belongs to. Source: OpenTelemetry, "Trace Context
    /// in non-OTLP Log Formats".
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
