import Configuration
package import Core
import Decoding
import Logging

/// From a request to its notifications.
extension RequestPipeline {
    package mutating func start(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        if let seconds = decoded.notBefore, seconds > now.wall.seconds {
            let start = WallTime(milliseconds: seconds * 1000)
            let expires = decoded.notifications.allSatisfy { hasExpired($0, of: request, at: start) }
            guard expires else { return wait(request, decoded, until: start, at: now) }
            request.startsTooLate = true
            return begin(decoded, of: request, at: now)
        }
        if !waitsToStart(decoded, request) { begin(decoded, of: request, at: now) }
    }

    /// Sends the notifications of a request whose turn it is.
    mutating func begin(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        request.notificationCount = decoded.count
        let done = request.history.done.flatMap { DoneBitmap($0, notifications: decoded.count) }
        guard done != nil || request.history.done == nil else {
            return refuse(request, decoded, "harebell-done: does not match \(decoded.count) notifications", at: now)
        }
        request.started = decoded.count - (done?.count ?? 0)
        request.addParts(request.started)
        let all = decoded.notifications
        var next = 0
        var refusals = decoded.refusals[...]
        var checked: Int?
        var checks: Checks?
        requestKey.begin()
        for place in 0..<decoded.count {
            let position = decoded.count == 1 ? nil : place
            if let refusal = refusals.first, refusal.position == place {
                refusals.removeFirst()
                if let limit = refusal.failure.limit { counters.decodingLimits[Int(limit.rawValue)] += 1 }
                if done?.contains(place) != true {
                    let id = notificationID(refusal.failure.known?.id, position, of: request, key: decoded.key)
                    let failure = waiting.table.checked(refusal.failure)
                    var end = Conclusion(request, failure, position: position, id: id)
                    if let hint = decoded.hint { end.report.add(hint) }
                    conclude(end, at: now)
                }
                continue
            }
            let index = next
            next += 1
            if done?.contains(place) == true { continue }
            let notification = all[index]
            // The notifications of a fan-out usually share payload and app, which are checked once.
            if checked.map({ !notification.sharesChecks(with: all[$0]) }) ?? true {
                let match = waiting.table.resolve(notification)
                var finding = finding(in: notification, match, of: request)
                if let hint = decoded.hint { finding = finding.map { "\($0); \(hint)" } ?? hint }
                checks = Checks(finding: finding, match: match)
                checked = index
            }
            let id = notificationID(notification.content.id, position, of: request, key: decoded.key)
            start(notification, checks!, position: position, id: id, of: request, at: now)
        }
    }

    /// What was found out about a notification, and applies to others of its request.
    private struct Checks {
        let finding: String?
        let match: Result<AppTable.Match, Complaint>
    }

    /// The maximum distance of `not-before` from now.
    package static let longestAhead = Duration.seconds(30 * 86_400)
    /// The longest wait for `not-before` in the worker if the shortest retry queue would end later.
    private static let longestStretch = Duration.seconds(5)

    /// A request waits for its `not-before` in the retry queues. If the shortest delay exceeds ``longestStretch``, the
    /// wait may end late by less than that delay.
    private mutating func wait(
        _ request: InFlightRequest, _ decoded: Request, until start: WallTime, at now: Moment
    ) {
        let pause = Duration.milliseconds(start.milliseconds - now.wall.milliseconds)
        // A request that waited before was admitted by the clock of the first worker.
        guard pause <= Self.longestAhead || request.history.deferrals > 0 else {
            return refuse(request, decoded, "not-before: more than 30 days ahead", at: now)
        }
        let isShort = pause <= Self.longestStretch
        postpone(request, for: isShort ? pause : max(pause, settings.ladder.shortest), at: now)
    }

    /// A request that can be read gets one result and a dead letter.
    private mutating func refuse(_ request: InFlightRequest, _ decoded: Request, _ detail: String, at now: Moment) {
        let first = decoded.notifications.first
        let id = notificationID(first?.content.id, of: request, key: decoded.key)
        var detail = detail
        if let first, case .failure(let refusal) = waiting.table.resolve(first) { detail += "; \(refusal.message)" }
        refuse(request, decoded.failure(detail), id: id, at: now)
    }

    mutating func notificationID(
        _ own: NotificationID?, _ position: Int? = nil, of request: InFlightRequest, key: ArraySlice<UInt8>? = nil
    ) -> NotificationID {
        requestKey.notificationID(
            own: own, position: position, of: request.delivery,
            queue: settings.queues[request.delivery.queue.index].name, key: key)
    }

    private mutating func start(
        _ notification: consuming Notification, _ checks: Checks, position: Int?, id: NotificationID,
        of request: InFlightRequest, at now: Moment
    ) {
        var report: Report
        switch checks.match {
        case .success(let match) where !request.delivery.redelivered || notification.target.maySendAgain:
            let entry = InFlightNotification(
                request: request, notification: notification, position: position, id: id, match: match)
            entry.finding = checks.finding
            waiting.table.apps[match.app.index].inFlight += 1
            return send(notifications.insert(entry), at: now)
        case .success:
            // The previous consumer may have sent it.
            report = Report(
                outcome: .undelivered, processed: .unknown,
                detail: "redelivered: the channel may have been created already; list the channels before asking again")
        case .failure(let failure): report = request.history.invalid(failure.message)
        }
        if let finding = checks.finding { report.add(finding) }
        conclude(
            Conclusion(request: request, notification: notification, position: position, id: id, report: report),
            at: now)
    }

    /// The violations of Apple's tables in a payload; `nil` if there are none.
    private mutating func finding(
        in notification: Notification, _ match: Result<AppTable.Match, Complaint>, of request: InFlightRequest
    ) -> String? {
        let found = try? notification.topic ?? match.get().topic
        guard let findings = PayloadCheck.findings(in: notification, topic: found), !findings.isEmpty else {
            return nil
        }
        counters[.payloadFindings] += 1
        guard case .success = match else { return findings.detail }
        let topic = String(decoding: found ?? [], as: UTF8.self)
        log.warning(
            "a payload deviates from Apple's tables; it is sent anyway",
            metadata: request.delivery.traced(["topic": "\(topic)", "finding": "\(findings.detailForLog)"]))
        return findings.detail
    }
}

extension Notification {
    /// Whether payload, app and topic of both lead to the same checks.
    ///
    /// The notifications of a fan-out usually have one content. Slices of one array compare by address, so that the
    /// rest is fast, too.
    func sharesChecks(with other: borrowing Notification) -> Bool {
        guard target.isDevice == other.target.isDevice else { return false }
        let (one, other) = (content, other.content)
        return one === other
            || one.pushType == other.pushType && one.environment == other.environment && one.topic == other.topic
                && one.payload == other.payload && one.priority == other.priority
    }
}

extension Notification.Target {
    fileprivate var isDevice: Bool {
        if case .device = self { true } else { false }
    }
}
