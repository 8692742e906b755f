import Configuration
package import Core
import Logging

/// From a delivery to the notifications of its request.
extension Pipeline {
    /// A message arrived.
    package func received(_ delivery: Delivery, at now: Moment) {
        let delivery = ownHeaders.screened(delivery)
        guard isNew(delivery, at: now), isTaken(delivery) else { return }
        timings.arrived(delivery, at: now.wall)
        let request = InFlightRequest(delivery: delivery, arrived: now)
        if delivery.redelivered, let count = poisonCount(delivery) { return giveUp(request, after: count, at: now) }
        decode(request, at: now)
    }

    private var ownHeaders: OwnHeaders { OwnHeaders(settings) }

    /// How often a message was delivered in vain, if that is more than chance: whoever reads it may die of it. Quorum
    /// queues count. Source: rabbitmq.com/docs/quorum-queues (poison message handling).
    private func poisonCount(_ delivery: Delivery) -> Int64? {
        guard case .integer(let count)? = delivery.header("x-delivery-count"), count >= settings.poisonDeliveries else {
            return nil
        }
        return count
    }

    /// What a log line about one request says, with the trace that it belongs to. Source: W3C Trace Context, section
    /// 3.2.
    func traced(_ delivery: Delivery, _ metadata: Logger.Metadata) -> Logger.Metadata {
        guard case .text(let trace)? = delivery.header("traceparent"), trace.count <= Self.longestTraceparent else {
            return metadata
        }
        var metadata = metadata
        metadata["traceparent"] = "\(String(decoding: trace, as: UTF8.self))"
        return metadata
    }

    /// Twice what version 00 takes; what is longer is not logged.
    private static let longestTraceparent = 110

    /// A message that may be poison gets one result and a dead letter, and is not decoded.
    private func giveUp(_ request: InFlightRequest, after count: Int64, at now: Moment) {
        request.open = 1
        let report = Report(
            outcome: .undelivered, processed: .unknown,
            detail: "poison suspect: delivered \(count) times before and never settled; it was not decoded")
        log.error(
            "a message was delivered too often: it becomes a dead letter unread",
            metadata: traced(
                request.delivery,
                [
                    "queue": "\(settings.queues[request.delivery.queue].name)", "deliveries": "\(count)",
                    "limit": "\(settings.poisonDeliveries)",
                ]))
        conclude(request, nil, position: nil, id: notificationID(of: request.delivery), report: report, at: now)
    }

    /// A message arrived whose body is larger than the configuration allows; its body was not kept.
    package func receivedOversize(_ delivery: Delivery, bodySize: UInt64, at now: Moment) {
        let delivery = ownHeaders.screened(delivery)
        // Without its body it may look like another one: only a message id tells them apart.
        let isNamed = delivery.messageID != nil
        guard isNew(delivery, isRecognizable: isNamed, at: now), isTaken(delivery) else { return }
        let limit = settings.maximumMessage
        refuse(
            InFlightRequest(delivery: delivery, arrived: now),
            DecodingFailure(
                "body: \(bodySize) bytes, more than broker.maximum_message_bytes (\(limit)) allows", limit: .body),
            id: isNamed ? notificationID(of: delivery) : nil, at: now)
    }

    /// Counts a delivery, and takes care of it if its request is in flight here or finished here already.
    func isNew(_ delivery: Delivery, isRecognizable: Bool = true, at now: Moment) -> Bool {
        counters.deliveries[delivery.queue] += 1
        guard isRecognizable, completed.hasSuspects || !orphans.isEmpty else {
            counters.unsettled += 1
            return true
        }
        let key = RedeliveryKey(delivery)
        if !delivery.redelivered {
            completed.publishedAnew(key)
        } else if let request = orphans.adopt(key) {
            counters.duplicatesAvoided += 1
            request.delivery.epoch = delivery.epoch
            request.delivery.tag = delivery.tag
            return false
        } else if completed.absorbs(key, at: now.instant) {
            counters.duplicatesAvoided += 1
            actions.append(.settle(delivery, .ack))
            return false
        }
        counters.unsettled += 1
        return true
    }

    /// The consuming connection is gone, or its channel of one queue: the broker will deliver again what it counts as
    /// unacknowledged.
    package func consumerLost(queue: Int? = nil, at now: Moment) {
        completed.connectionLost(at: now.instant)
        for request in openRequests() where queue == nil || queue == request.delivery.queue {
            orphans.insert(request)
        }
        dropUnsentOrphans(at: now)
    }

    /// When the delivery arrived that has been unsettled for longest; `nil` if there is none.
    package var oldestArrival: Instant? {
        openRequests().map(\.arrived.instant).min()
    }

    /// Every request that is not settled, some of them more than once.
    private func openRequests() -> [InFlightRequest] {
        var requests = notifications.handles.map { notifications[$0].request }
        requests += outlets.flatMap(\.elements).map(\.request)
        for entry in later.elements {
            switch entry {
            case .republish(let pending): requests.append(pending.request)
            case .decode(let request): requests.append(request)
            case .retry, .release: break
            }
        }
        requests += asked.handles.map { asked[$0] }
        return requests
    }

    func decode(_ request: InFlightRequest, at now: Moment) {
        let queue = request.delivery.queue
        if let process = settings.queues[queue].process {
            actions.append(.ask(process, asked.insert(request), request.delivery))
            return
        }
        take(settings.queues[queue].decoder.decode(request.delivery, at: now.wall), of: request, at: now)
    }

    /// The answer of a decoder that could not give it at once.
    package func decoded(_ handle: UInt32, _ answer: Decoded, at now: Moment) {
        take(answer, of: asked.remove(handle), at: now)
    }

    private func take(_ answer: Decoded, of request: InFlightRequest, at now: Moment) {
        switch answer {
        case .request(let decoded):
            start(decoded, of: request, at: now)
        case .ignore:
            counters.ignored += 1
            complete(request, at: now)
        case .reject(let failure):
            refuse(request, failure, id: notificationID(of: request.delivery), at: now)
        case .later(let pause):
            putOff(request, for: pause, at: now)
        }
    }

    func start(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        request.notifications = decoded.count
        var done: DoneBitmap?
        if let text = request.history.done {
            done = DoneBitmap(text, notifications: decoded.count)
            guard done != nil else {
                let failure = DecodingFailure("harebell-done: says nothing of \(decoded.count) notifications")
                return refuse(request, failure, id: notificationID(of: request.delivery), at: now)
            }
        }
        request.started = decoded.count - (done?.count ?? 0)
        request.open = request.started
        let all = decoded.notifications
        var next = 0
        var refusals = decoded.refusals[...]
        var finding: String?
        var checked: Int?
        for place in 0..<decoded.count {
            let position = decoded.count == 1 ? nil : place
            if let refusal = refusals.first, refusal.position == place {
                refusals.removeFirst()
                if let limit = refusal.failure.limit { counters.decodingLimits[Int(limit.rawValue)] += 1 }
                if done?.contains(place) != true {
                    let id = notificationID(refusal.id, position: position, of: request, key: decoded.key)
                    let report = Report(outcome: .invalid, detail: refusal.failure.detail)
                    conclude(request, nil, position: position, id: id, report: report, at: now)
                }
                continue
            }
            let index = next
            next += 1
            if done?.contains(place) == true { continue }
            let notification = all[index]
            // The payload of a fan-out is one: it is checked once.
            if checked.map({ !notification.isForPayload(of: all[$0]) }) ?? true {
                finding = self.finding(in: notification, at: now)
            }
            checked = index
            let id = notificationID(notification.id, position: position, of: request, key: decoded.key)
            start(notification, position: position, id: id, finding: finding, of: request, at: now)
        }
    }

    private func notificationID(
        _ own: NotificationID?, position: Int?, of request: InFlightRequest, key: ArraySlice<UInt8>?
    ) -> NotificationID {
        RequestKey.notificationID(
            own: own, position: position, of: request.delivery, queue: settings.queues[request.delivery.queue].name,
            key: key)
    }

    func start(
        _ notification: consuming Notification, position: Int?, id: NotificationID, finding: String?,
        of request: InFlightRequest, at now: Moment
    ) {
        switch apps.resolve(notification) {
        case .failure(let failure):
            let report = Report(outcome: .invalid, detail: failure.detail)
            conclude(request, notification, position: position, id: id, report: report, at: now)
        case .success(let match):
            if let report = refusal(of: notification, finding: finding, request) {
                return conclude(request, notification, position: position, id: id, report: report, at: now)
            }
            let entry = InFlightNotification(
                request: request, notification: notification, position: position, id: id, match: match)
            entry.finding = finding
            send(notifications.insert(entry), at: now)
        }
    }

    /// Why a notification is not sent though its app is known; `nil` if it is.
    private func refusal(
        of notification: borrowing Notification, finding: String?, _ request: InFlightRequest
    ) -> Report? {
        if let finding, settings.validation == .strict { return Report(outcome: .invalid, detail: finding) }
        guard request.delivery.redelivered, !notification.target.maySendAgain else { return nil }
        // Whoever had it before us may have sent it.
        return Report(
            outcome: .undelivered, processed: .unknown,
            detail: "redelivered: the channel may have been created already; list the channels before asking again")
    }
}
