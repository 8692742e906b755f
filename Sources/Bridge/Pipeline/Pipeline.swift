package import APNs
package import AMQP
package import Core
package import Logging

/// What the pipeline may do to the world; its worker provides it.
package protocol PipelineDoors: AnyObject {
    /// Hands a notification to a pool; its end comes back as ``Pipeline/replied(_:_:at:)``
    /// or ``Pipeline/lost(_:_:at:)``. Returns the pool's name for it.
    func submit(_ request: APNsRequest, handle: UInt32, pool: Int, at now: Moment) -> UInt32

    /// Takes a notification back from a pool; `false` if it was sent already, and then its end comes back.
    func withdraw(_ ticket: UInt32, handle: UInt32, pool: Int) -> Bool

    /// Whether the publishing connection takes publishes now.
    var canPublish: Bool { get }

    /// Publishes and returns the sequence number that its confirm will carry.
    func publish(_ publication: Publication) throws(AMQPError) -> UInt64

    /// Tells the broker the end of a delivery of the current epoch.
    func settle(_ delivery: Delivery, _ settlement: Settlement)
}

/// The circle's middle: keeps a record of every delivery from its arrival to its settlement.
///
/// A delivery becomes a request, each of its notifications gets exactly one outcome, the results of the outcomes are
/// confirmed by the broker, and then, not earlier, the delivery gets its one settlement. The broker's prefetch bounds
/// the number of records, and with it everything that waits here.
package final class Pipeline {
    package let settings: PipelineSettings
    package private(set) var counters: PipelineCounters
    package var apps: AppTable

    private unowned let doors: any PipelineDoors
    private let log: Logger
    private var random: SplitMix64
    private let encoder = ResultEncoder()

    private var notifications = Slab<InFlightNotification>()
    private var completed: CompletedRequests
    /// Requests whose connection is gone, by what identifies them should they be redelivered.
    private var orphans: [RedeliveryKey: InFlightRequest] = [:]
    private var later = DeadlineQueue<Later>()

    private var unconfirmed = SequenceTable<PendingPublication>()
    /// What waits for the publishing connection, oldest first.
    private var unpublished: [PendingPublication] = []

    /// What waits for its time.
    private enum Later {
        case retry(UInt32)
        case republish(PendingPublication)
        case decode(InFlightRequest)
        case probe(app: Int)
    }

    /// A publish that has no confirm yet.
    private final class PendingPublication {
        enum Kind {
            case result(report: Report, id: NotificationID?)
            case routedResult(report: Report, id: NotificationID?)
            case feedback
            case deadLetter
        }

        let request: InFlightRequest
        let publication: Publication
        let kind: Kind
        var refusals = 0

        init(request: InFlightRequest, publication: Publication, kind: Kind) {
            self.request = request
            self.publication = publication
            self.kind = kind
        }
    }

    /// - Parameter seed: for the jitter of retries
    package init(settings: PipelineSettings, apps: AppTable, doors: any PipelineDoors, log: Logger, seed: UInt64) {
        self.settings = settings
        self.apps = apps
        self.doors = doors
        self.log = log
        random = SplitMix64(seed: seed)
        counters = PipelineCounters(queues: settings.queues.count)
        completed = CompletedRequests(prefetch: settings.queues.reduce(0) { $0 + Int($1.prefetch) })
    }

    /// Whether nothing is left to do for any delivery.
    package var isIdle: Bool {
        counters.unsettled == 0
    }

    /// Whether all that is left belongs to paused apps: waiting longer changes nothing.
    package var holdsOnly: Bool {
        counters.unconfirmed == 0 && notifications.count == apps.apps.reduce(0) { $0 + $1.held.count }
            && later.elements.allSatisfy { if case .probe = $0 { true } else { false } }
    }

    // MARK: Deliveries

    /// A message arrived.
    package func received(_ delivery: Delivery, at now: Moment) {
        guard isNew(delivery, at: now) else { return }
        decode(InFlightRequest(delivery: delivery, arrived: now), at: now)
    }

    /// A message arrived whose body is larger than the configuration allows; its body was not kept.
    package func receivedOversize(_ delivery: Delivery, bodySize: UInt64, at now: Moment) {
        // Without its body it may look like another one: only a message id tells them apart.
        let isNamed = delivery.messageID != nil
        guard isNew(delivery, isRecognizable: isNamed, at: now) else { return }
        let limit = settings.maximumMessage
        refuse(
            InFlightRequest(delivery: delivery, arrived: now),
            DecodingFailure("body: \(bodySize) bytes, more than broker.maximum_message_bytes (\(limit)) allows"),
            id: isNamed ? notificationID(of: delivery) : nil, at: now)
    }

    /// Counts a delivery, and takes care of it if its request is in flight here or finished here already.
    private func isNew(_ delivery: Delivery, isRecognizable: Bool = true, at now: Moment) -> Bool {
        counters.deliveries[delivery.queue] += 1
        guard isRecognizable, completed.hasSuspects || !orphans.isEmpty else {
            counters.unsettled += 1
            return true
        }
        let key = RedeliveryKey(delivery)
        if !delivery.redelivered {
            completed.publishedAnew(key)
        } else if let request = orphans.removeValue(forKey: key) {
            counters.duplicatesAvoided += 1
            request.delivery.epoch = delivery.epoch
            request.delivery.tag = delivery.tag
            request.isOrphan = false
            return false
        } else if completed.contains(key, at: now.instant) {
            counters.duplicatesAvoided += 1
            doors.settle(delivery, .ack)
            return false
        }
        counters.unsettled += 1
        return true
    }

    /// The consuming connection is gone: the broker will deliver again what it counts as unacknowledged.
    package func consumerLost(at now: Moment) {
        completed.connectionLost(at: now.instant)
        var alive: Set<ObjectIdentifier> = []
        for request in openRequests() where alive.insert(ObjectIdentifier(request)).inserted {
            request.isOrphan = true
            orphans[RedeliveryKey(request.delivery)] = request
        }
    }

    private func openRequests() -> [InFlightRequest] {
        var requests = notifications.handles.map { notifications[$0].request }
        requests += unpublished.map(\.request)
        requests += unconfirmed.elements.map(\.request)
        for entry in later.elements {
            switch entry {
            case .republish(let pending): requests.append(pending.request)
            case .decode(let request): requests.append(request)
            case .retry, .probe: break
            }
        }
        return requests
    }

    private func decode(_ request: InFlightRequest, at now: Moment) {
        switch settings.queues[request.delivery.queue].decoder.decode(request.delivery) {
        case .request(let decoded):
            start(decoded, of: request, at: now)
        case .ignore:
            counters.ignored += 1
            complete(request)
        case .reject(let failure):
            refuse(request, failure, id: notificationID(of: request.delivery), at: now)
        case .later(let pause):
            later.insert(.decode(request), due: now.instant + min(pause, settings.longestDeferral))
        }
    }

    private func start(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        let all = decoded.notifications
        request.notifications = all.count
        request.open = all.count
        for index in all.indices {
            let position = all.count == 1 ? nil : index
            let id = RequestKey.notificationID(
                for: all[index], position: position, of: request.delivery,
                queue: settings.queues[request.delivery.queue].name)
            start(all[index], position: position, id: id, of: request, at: now)
        }
    }

    private func start(
        _ notification: Notification, position: Int?, id: NotificationID, of request: InFlightRequest, at now: Moment
    ) {
        let match: AppTable.Match
        switch apps.resolve(notification) {
        case .success(let found): match = found
        case .failure(let failure):
            let report = Report(outcome: .invalid, detail: failure.detail)
            conclude(request, notification, position: position, id: id, report: report, at: now)
            return
        }
        let handle = notifications.insert(
            InFlightNotification(request: request, notification: notification, position: position, id: id, match: match)
        )
        send(handle, at: now)
    }

    // MARK: Notifications

    /// Sends a notification, or holds it while its app is paused.
    private func send(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        if hasExpired(entry, at: now) {
            finishExpired(handle, entry, at: now)
            return
        }
        guard apps.apps[entry.app].gate.admit(handle, at: now.instant) else {
            hold(handle, entry)
            return
        }
        if entry.firstTry == nil { entry.firstTry = now.instant }
        let notification = entry.notification
        let request = APNsRequest(
            target: notification.target, topic: entry.topic, pushType: notification.pushType,
            priority: notification.priority ?? (notification.pushType == .background ? .considerate : nil),
            expiration: notification.expiration, collapseID: notification.collapseID, id: entry.id,
            payload: notification.payload)
        entry.ticket = doors.submit(request, handle: handle, pool: apps.apps[entry.app].pool, at: now)
    }

    private func finishExpired(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) {
        let processed: Processed = entry.attempts == 0 ? .no : .unknown
        finish(handle, Report(outcome: .expired, attempts: entry.attempts, processed: processed), at: now)
    }

    /// Whether its `apns-expiration` has passed; 0 means one attempt, whenever that is.
    private func hasExpired(_ entry: InFlightNotification, at now: Moment) -> Bool {
        if let expiration = entry.notification.expiration, expiration > 0, expiration < now.wall.seconds { return true }
        guard let timestamp = entry.request.delivery.timestamp, let text = entry.request.delivery.expiration,
            let lifetime = Int64(String(decoding: text, as: UTF8.self)), let sent = Int64(exactly: timestamp)
        else { return false }
        // The broker drops what expires in a queue; this is for what expires while it is held here.
        let (end, overflow) = sent.multipliedReportingOverflow(by: 1000)
        return !overflow && lifetime > 0 && end < now.wall.milliseconds - 999 - lifetime
    }

    /// APNs answered a notification.
    package func replied(_ handle: UInt32, _ reply: APNsReply, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        let rule = reply.rule
        if rule.action == .pauseApp {
            hold(handle, entry)
            pause(entry.app, handle, reply, at: now)
            return
        }
        entry.attempts += 1
        if !apps.apps[entry.app].gate.isOpen, apps.apps[entry.app].gate.answered() { resume(entry.app, at: now) }
        func report(_ outcome: Outcome) -> Report {
            Report(
                outcome: outcome, status: reply.status, reason: reply.reason, timestamp: reply.timestamp,
                uniqueID: reply.uniqueID, attempts: entry.attempts, processed: .yes)
        }
        switch rule.action {
        case .accept: finish(handle, report(.accepted), at: now)
        case .unregister: finish(handle, report(.unregistered), at: now)
        case .reject, .pauseApp: finish(handle, report(.rejected), at: now)
        case .resend, .renewToken, .retryLater:
            guard !retry(handle, entry, at: now) else { return }
            var last = report(.undelivered)
            last.detail = "given up after \(entry.attempts) tries in \(settings.retry.horizon.inSeconds) s"
            finish(handle, last, at: now)
        }
    }

    /// A notification ended without an answer.
    package func lost(_ handle: UInt32, _ loss: Loss, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        if apps.apps[entry.app].gate.lost(handle) { scheduleProbe(entry.app) }
        if loss.processed == .unknown { counters.uncertain += 1 }
        entry.attempts += 1
        guard !retry(handle, entry, at: now) else { return }
        finish(
            handle,
            Report(outcome: .undelivered, attempts: entry.attempts, processed: loss.processed, detail: loss.detail),
            at: now)
    }

    /// A notification expired in the line for APNs.
    package func expired(_ handle: UInt32, at now: Moment) {
        let entry = notifications[handle]
        entry.ticket = nil
        if apps.apps[entry.app].gate.lost(handle) { scheduleProbe(entry.app) }
        finishExpired(handle, entry, at: now)
    }

    private func retry(_ handle: UInt32, _ entry: InFlightNotification, at now: Moment) -> Bool {
        guard let began = entry.firstTry else { preconditionFailure("what ended was tried") }
        let elapsed = now.instant - began
        guard let pause = settings.retry.pause(afterAttempts: entry.attempts, elapsed: elapsed, using: &random) else {
            return false
        }
        counters.retries += 1
        later.insert(.retry(handle), due: now.instant + pause)
        return true
    }

    // MARK: Pausing an app

    /// A notification waits for its app. That is not trouble of its own, so its time for retries begins anew.
    private func hold(_ handle: UInt32, _ entry: InFlightNotification) {
        entry.firstTry = nil
        apps.apps[entry.app].held.append(handle)
    }

    private func pause(_ app: Int, _ handle: UInt32, _ reply: APNsReply, at now: Moment) {
        let cause = reply.reason ?? RejectionReason(rawValue: "\(reply.status)")
        let refusal = apps.apps[app].gate.refused(handle, cause, at: now.instant)
        if refusal != .repeats { scheduleProbe(app) }
        guard refusal == .closes else { return }
        withdraw(app)
        log.error(
            "APNs refuses this app: it is paused, its requests wait, and one probe at a time is sent",
            metadata: appMetadata(app, ["status": "\(reply.status)", "reason": "\(cause.rawValue)"]))
    }

    /// What waits in the pool would be refused as well, one connection after the other: it is held, oldest first.
    private func withdraw(_ app: Int) {
        let submitted = notifications.handles.map { (handle: $0, entry: notifications[$0]) }.filter {
            $0.entry.app == app && $0.entry.ticket != nil
        }
        for (handle, entry) in submitted.sorted(by: { $0.entry.request.delivery.tag < $1.entry.request.delivery.tag }) {
            guard let ticket = entry.ticket, doors.withdraw(ticket, handle: handle, pool: apps.apps[app].pool) else {
                continue
            }
            entry.ticket = nil
            hold(handle, entry)
        }
    }

    private func resume(_ app: Int, at now: Moment) {
        log.notice("APNs answers this app again: it is resumed", metadata: appMetadata(app, [:]))
        let held = apps.apps[app].held
        apps.apps[app].held.removeAll()
        for handle in held { send(handle, at: now) }
    }

    private func scheduleProbe(_ app: Int) {
        if let probe = apps.apps[app].gate.nextProbe { later.insert(.probe(app: app), due: probe) }
    }

    /// Sends what is held until one of it goes as a probe: what has expired ends instead.
    private func probe(_ app: Int, at now: Moment) {
        while let due = apps.apps[app].gate.nextProbe, due <= now.instant, !apps.apps[app].held.isEmpty {
            send(apps.apps[app].held.removeFirst(), at: now)
        }
    }

    private func appMetadata(_ app: Int, _ more: Logger.Metadata) -> Logger.Metadata {
        let entry = apps.apps[app]
        return more.merging([
            "topic": "\(String(decoding: entry.topic, as: UTF8.self))", "environment": "\(entry.environment.rawValue)",
        ]) { first, _ in first }
    }

    // MARK: Outcomes

    private func finish(_ handle: UInt32, _ report: Report, at now: Moment) {
        let entry = notifications.remove(handle)
        conclude(
            entry.request, entry.notification, position: entry.position, id: entry.id, app: entry, report: report,
            at: now)
    }

    /// A message that is no request gets one result and a dead letter.
    private func refuse(_ request: InFlightRequest, _ failure: DecodingFailure, id: NotificationID?, at now: Moment) {
        request.open = 1
        conclude(
            request, nil, position: nil, id: id, report: Report(outcome: .invalid, detail: failure.detail), at: now)
    }

    /// What the results of a message that is no request are told apart by.
    private func notificationID(of delivery: Delivery) -> NotificationID {
        RequestKey.notificationID(
            for: nil, position: nil, of: delivery, queue: settings.queues[delivery.queue].name)
    }

    private func conclude(
        _ request: InFlightRequest, _ notification: Notification?, position: Int?, id: NotificationID?,
        app: InFlightNotification? = nil, report: Report, at now: Moment
    ) {
        counters.outcomes[Int(report.outcome.rawValue)] += 1
        let delivery = request.delivery
        let route = resultRoute(for: delivery, outcome: report.outcome)
        let feedback = report.outcome == .unregistered ? settings.feedback : nil
        if route != nil || feedback != nil {
            let result = encoder.encode(
                report, id: id, position: position, notification: notification, topic: app?.topic,
                environment: app.map { apps.apps[$0.app].environment } ?? notification?.environment, delivery: delivery)
            if let route {
                publish(result.publication(to: route), for: request, .result(report: report, id: id), at: now)
            }
            if let feedback {
                publish(result.publication(to: feedback), for: request, .feedback, at: now)
            }
        }
        if settings.callsForDeadLetter(report.outcome) {
            request.failures += 1
            if request.firstFailure == nil { request.firstFailure = (id, report) }
        }
        closeOne(of: request, at: now)
    }

    /// `reply_to` through the default exchange; without it, what the configuration says.
    private func resultRoute(for delivery: Delivery, outcome: Outcome) -> PublishRoute? {
        if let replyTo = delivery.replyTo, !replyTo.isEmpty {
            return PublishRoute(exchange: [], routingKey: replyTo)
        }
        return settings.results(for: outcome)
    }

    /// One notification or publication of the request has ended.
    private func closeOne(of request: InFlightRequest, at now: Moment) {
        request.open -= 1
        guard request.open == 0 else { return }
        if let (id, report) = request.firstFailure {
            request.firstFailure = nil
            deadLetter(request, id: id, report: report, at: now)
        } else {
            complete(request)
        }
    }

    private func deadLetter(_ request: InFlightRequest, id: NotificationID?, report: Report, at now: Moment) {
        counters.deadLetters += 1
        var report = report
        if request.notifications > 1 {
            let first = report.detail.map { ", first: \($0)" } ?? ""
            report.detail = "\(request.failures) of \(request.notifications) notifications failed\(first)"
        }
        let publication = settings.deadLetters.encode(
            request.delivery, report: report, id: id, queue: settings.queues[request.delivery.queue].name,
            decoder: settings.queues[request.delivery.queue].decoder.name, firstSeen: request.arrived.wall,
            now: now.wall)
        publish(publication, for: request, .deadLetter, at: now)
    }

    private func complete(_ request: InFlightRequest) {
        counters.unsettled -= 1
        let key = RedeliveryKey(request.delivery)
        guard !request.isOrphan else {
            orphans.removeValue(forKey: key)
            completed.completedTooLate(key)
            return
        }
        completed.completed(key)
        doors.settle(request.delivery, .ack)
    }

    // MARK: Publishing

    private func publish(
        _ publication: Publication, for request: InFlightRequest, _ kind: PendingPublication.Kind, at now: Moment
    ) {
        request.open += 1
        counters.unconfirmed += 1
        publish(PendingPublication(request: request, publication: publication, kind: kind), at: now)
    }

    private func publish(_ pending: PendingPublication, at now: Moment) {
        guard doors.canPublish else {
            unpublished.append(pending)
            return
        }
        do {
            unconfirmed.insert(pending, at: try doors.publish(pending.publication))
        } catch {
            // It would fail for ever: no frame takes what a request brought along for its result.
            returned(pending, error.message, at: now)
        }
    }

    /// Publishes what waits for the publishing connection, as far as that takes it.
    package func publishWaiting(at now: Moment) {
        guard !unpublished.isEmpty, doors.canPublish else { return }
        let waiting = unpublished
        unpublished.removeAll(keepingCapacity: true)
        for pending in waiting { publish(pending, at: now) }
    }

    /// The broker has told the end of a publish.
    package func confirmed(_ sequence: UInt64, _ confirmation: Confirmation, at now: Moment) {
        let pending = unconfirmed.remove(sequence)
        switch confirmation {
        case .acked:
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .nacked:
            counters.refusedPublishes += 1
            pending.refusals += 1
            later.insert(.republish(pending), due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        case .lost:
            unpublished.append(pending)
        case .returned(let code, let text):
            counters.returned += 1
            returned(pending, "\(code) \(text)", at: now)
        }
    }

    /// No queue took a publish. A result goes where the configuration sends results, then to the dead letters with its
    /// request; a dead letter waits until somebody makes its queue.
    private func returned(_ pending: PendingPublication, _ reply: String, at now: Moment) {
        switch pending.kind {
        case .result(let report, let id):
            if let route = settings.results(for: report.outcome), pending.request.delivery.replyTo != nil {
                counters.unconfirmed -= 1
                pending.request.open -= 1
                publish(
                    pending.publication.rerouted(to: route), for: pending.request,
                    .routedResult(report: report, id: id), at: now)
            } else {
                abandonResult(pending, report, id, reply, at: now)
            }
        case .routedResult(let report, let id):
            abandonResult(pending, report, id, reply, at: now)
        case .feedback:
            log.error(
                "the feedback queue does not exist: an unregistered result went only to its own queue",
                metadata: ["reply": "\(reply)"])
            counters.unconfirmed -= 1
            closeOne(of: pending.request, at: now)
        case .deadLetter:
            pending.refusals += 1
            log.error(
                "no queue takes dead letters: the request is held until one does ('harebell topology --apply' makes it)",
                metadata: ["reply": "\(reply)"])
            later.insert(.republish(pending), due: now.instant + settings.pauseAfterRefusal(pending.refusals))
        }
    }

    private func abandonResult(
        _ pending: PendingPublication, _ report: Report, _ id: NotificationID?, _ reply: String, at now: Moment
    ) {
        counters.unconfirmed -= 1
        if pending.request.firstFailure == nil {
            var report = report
            report.detail = "the result could not be routed (\(reply))" + (report.detail.map { "; \($0)" } ?? "")
            pending.request.firstFailure = (id, report)
        }
        if !settings.callsForDeadLetter(report.outcome) { pending.request.failures += 1 }
        closeOne(of: pending.request, at: now)
    }

    // MARK: Time

    package var nextDeadline: Instant? {
        later.earliest
    }

    package func expire(at now: Moment) {
        while let entry = later.popDue(at: now.instant) {
            switch entry {
            case .retry(let handle): send(handle, at: now)
            case .republish(let pending): publish(pending, at: now)
            case .decode(let request): decode(request, at: now)
            case .probe(let app): probe(app, at: now)
            }
        }
    }
}
