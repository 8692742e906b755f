import Configuration
package import Core
import Decoding
import Logging

/// From a delivery to its request, and from the end of the request to the settlement.
extension RequestPipeline {
    /// Whether more may be consumed in addition to what is held. A broker does not count the deliveries of a cancelled
    /// consumer, so each standstill could otherwise add another prefetch.
    package var hasRoom: Bool { counters.unsettled <= settings.prefetch }

    // MARK: Deliveries

    package mutating func received(_ delivery: Delivery, at now: Moment) {
        let delivery = OwnHeaders(settings).screened(delivery)
        if let size = delivery.oversizeBody { return receivedOversize(delivery, bodySize: size, at: now) }
        guard admit(delivery, at: now) else { return }
        stopAfterProbe()
        timings.arrived(delivery, at: now.wall)
        let request = makeRequest(delivery, at: now)
        // Only quorum queues count. Source: rabbitmq.com/docs/quorum-queues (poison message handling).
        if delivery.redelivered, let count = delivery.deliveryCount, count >= Self.poisonDeliveries {
            return concludePoison(request, after: count, at: now)
        }
        decode(request, at: now)
    }

    /// A message arrived with a body larger than the configuration allows; the body was discarded.
    private mutating func receivedOversize(_ delivery: Delivery, bodySize: UInt64, at now: Moment) {
        // Without a body, only a message id distinguishes it from others.
        let isNamed = delivery.hasMessageID
        guard admit(delivery, isRecognizable: isNamed, at: now) else { return }
        stopAfterProbe()
        let limit = settings.maximumMessage
        let failure = DecodingFailure(
            "body: \(bodySize) bytes, more than broker.max_message_bytes (\(limit)) allows", limit: .body,
            known: APNsHeadersDecoder.known(of: delivery))
        let request = makeRequest(delivery, at: now)
        let own = failure.known?.id
        refuse(request, failure, id: isNamed ? notificationID(own, of: request) : own, at: now)
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

    /// The number of deliveries without a settlement after which a message is given up without being decoded.
    static let poisonDeliveries = 15

    /// The message may crash its consumers: it gets one result and a dead letter, without being decoded.
    private mutating func concludePoison(_ request: InFlightRequest, after count: Int64, at now: Moment) {
        request.addParts()
        log.error(
            "a message was delivered too often: it becomes a dead letter without decoding",
            metadata: request.delivery.traced(
                [
                    "messaging.destination.name": "\(settings.queues[request.delivery.queue.index].name)",
                    "deliveries": .stringConvertible(count),
                    "limit": .stringConvertible(Self.poisonDeliveries),
                ]))
        let report = Report(
            outcome: .undelivered, attempts: request.history.attempts, processed: .unknown,
            detail: "poison suspect: delivered \(count) times before and never settled; it was not decoded")
        let id = notificationID(APNsHeadersDecoder.known(of: request.delivery).id, of: request)
        conclude(Conclusion(request: request, id: id, report: report), at: now)
    }

    /// Counts a delivery. Returns false if its request is in flight, or has finished here and is only acknowledged.
    private mutating func admit(_ delivery: Delivery, isRecognizable: Bool = true, at now: Moment) -> Bool {
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
            (request.epoch, request.tag) = (delivery.epoch, delivery.tag)
            return false
        } else if completed.absorbs(key, at: now.instant) {
            counters[.duplicatesAvoided] += 1
            append(.settle(delivery.queue, epoch: delivery.epoch, tag: delivery.tag, .ack))
            return false
        }
        counters.unsettled += 1
        return true
    }

    /// While only probes are consumed, one message is enough. Each queue may have sent one, and all are kept: returning
    /// the same one each time would use up its deliveries.
    private mutating func stopAfterProbe() {
        guard probing == .wanted else { return }
        probing = .arrived
        append(.setIntake(.none))
    }

    // MARK: Decoding

    mutating func decode(_ request: InFlightRequest, at now: Moment) {
        let queue = request.delivery.queue.index
        let delivery: Delivery
        do throws(DecodingFailure) {
            delivery = try request.delivery.readable(limit: settings.maximumMessage)
        } catch {
            return take(.reject(error), of: request, at: now)
        }
        guard let process = settings.queues[queue].process else {
            return take(settings.queues[queue].decoder.decode(delivery, at: now.wall), of: request, at: now)
        }
        append(.decode(process: process, decoding.insert(request), delivery))
    }

    package mutating func decoded(_ handle: Handle, _ decoded: Decoded, at now: Moment) {
        let request = decoding.remove(handle)
        guard !request.isOrphan else { return drop(request) }
        take(decoded, of: request, at: now)
    }

    private mutating func take(_ decoded: Decoded, of request: InFlightRequest, at now: Moment) {
        switch decoded {
        case .request(let decoded): start(decoded, of: request, at: now)
        case .ignore:
            counters[.ignored] += 1
            complete(request, at: now)
        case .reject(let refused):
            var failure = waiting.table.checked(refused)
            if failure.known == nil { failure.known = APNsHeadersDecoder.known(of: request.delivery) }
            refuse(request, failure, id: notificationID(failure.known?.id, of: request, key: failure.key), at: now)
        case .later(let pause): postpone(request, for: pause, at: now)
        }
    }

    /// Holds an untried delivery as long as the consumer may leave it unacknowledged, then decodes it again.
    mutating func decodeLater(_ request: InFlightRequest, for pause: Duration, at now: Moment) {
        // Its copy reached no queue, and the broker redelivers it, perhaps to another worker.
        guard !request.isOrphan else { return drop(request) }
        deferred.insert(request, due: now.instant + min(pause, settings.longestDeferral))
    }

    // MARK: Settlement

    /// All parts of a request have ended: its delivery is acknowledged, unless the connection was lost.
    mutating func complete(_ request: InFlightRequest, at now: Moment) {
        counters.unsettled -= 1
        timings.request.record(from: request.arrived.instant, to: now.instant)
        if let trace = request.trace {
            let queue = settings.queues[request.delivery.queue.index].name
            trace.completed(request.delivery, queue: queue, at: now.instant)
        }
        guard !request.isOrphan else {
            return completed.completedTooLate(orphans.remove(request), at: now.instant)
        }
        if let key = request.namedKey { completed.completed(key) }
        settle(request, .ack)
    }

    /// Returns an unsent request that can wait in its queue as well as in a retry queue.
    mutating func requeue(_ request: InFlightRequest) {
        request.parked = []
        // The broker has already requeued an orphan.
        guard !request.isOrphan else { return drop(request) }
        counters.unsettled -= 1
        counters[.requeued] += 1
        settle(request, .requeue)
    }

    private mutating func settle(_ request: InFlightRequest, _ settlement: Settlement) {
        append(.settle(request.queue, epoch: request.epoch, tag: request.tag, settlement))
    }

    /// Returns everything that only waits, at a drain: requests that are not decoded, and notifications. They are
    /// parked if another notification of their request has ended.
    package mutating func requeueWaiting(at now: Moment) {
        for request in deferred.removeAll(where: \.isUntouched) {
            // Parking needs the retry queue, and space for the headers of a copy; otherwise it is requeued.
            let pause = settings.ladder.shortest
            let queue = RetryQueueName.make(for: settings.queues[request.queue.index].name, delay: pause)
            if mayReturn(request) || missingRetryQueues.contains(queue) || !parks(request, for: pause, at: now) {
                requeue(request)
            }
        }
        stopWaiting(.requeue, notifications.handles, at: now)
    }

    // MARK: A lost connection

    /// The consuming connection, or the channel of one queue, was lost: the broker will redeliver everything
    /// unacknowledged.
    package mutating func consumerLost(queue: QueueID? = nil, at now: Moment) {
        completed.connectionLost(at: now.instant)
        for request in requests where queue == nil || queue == request.queue { orphans.insert(request) }
        for request in deferred.removeAll(where: \.isOrphan) + backlog.removeOrphans() { drop(request) }
        dropUnsentOrphans(at: now)
    }

    /// Forgets an unsent request that the broker redelivers: the redelivery may reach another worker, and both would
    /// send it.
    mutating func drop(_ request: InFlightRequest) {
        // An equal request may have finished before: the redelivery is not that one.
        if let key = request.namedKey { completed.republished(key) }
        orphans.remove(request)
        counters.unsettled -= 1
    }

    // MARK: No app can send

    /// Whether one message from each queue is taken as a probe while nothing else is consumed.
    enum Probing {
        case no, wanted, arrived
    }

    /// No app can send: the worker consumes only probes until one can.
    mutating func suspend() {
        counters[.suspensions] += 1
        log.error(
            "no app can send: only probes are consumed, and what waits returns to its queue after hold_seconds",
            metadata: ["hold_seconds": .stringConvertible(settings.hold.components.seconds)])
        probing = .no
        append(.setIntake(.none))
    }

    mutating func resume() {
        log.notice("an app can send again: consuming resumes")
        probing = .no
        append(.setIntake(.full))
    }

    /// The worker still consumes nothing after another check.
    ///
    /// - Parameter isProbeWanted: whether a paused app has no notification for its probe: one message is then taken.
    mutating func staySuspended(isProbeWanted: Bool) {
        switch probing {
        case .no:
            guard isProbeWanted, hasRoom else { return }
            probing = .wanted
            append(.setIntake(.one))
        case .wanted: break
        // The messages of the last probe have arrived by the next check.
        case .arrived: probing = .no
        }
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
        guard case .text(let header)? = header("traceparent"), TraceContext(header) != nil else { return metadata }
        var metadata = metadata
        metadata["trace_id"] = "\(String(decoding: header.dropFirst(3).prefix(32), as: UTF8.self))"
        return metadata
    }
}
