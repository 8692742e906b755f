import Configuration
package import Core
import Logging

/// From a request to its notifications.
extension Dispatch {
    /// Sends the notifications of a request.
    package mutating func start(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        var now = now
        if let seconds = decoded.notBefore, seconds > now.wall.seconds {
            let start = WallTime(milliseconds: seconds * 1000)
            let expires = decoded.notifications.allSatisfy { hasExpired($0, of: request, at: start) }
            guard expires else { return postpone(request, until: start, at: now) }
            now.wall = start
        }
        if !waitsToStart(decoded, request) { begin(decoded, of: request, at: now) }
    }

    /// Sends the notifications of a request whose turn it is.
    mutating func begin(_ decoded: Request, of request: InFlightRequest, at now: Moment) {
        request.notifications = decoded.count
        var done: DoneBitmap?
        if let text = request.history.done {
            done = DoneBitmap(text, notifications: decoded.count)
            guard done != nil else {
                let failure = DecodingFailure("harebell-done: does not match \(decoded.count) notifications")
                actions.append(.refuse(request, failure, settings.notificationID(of: request.delivery)))
                return
            }
        }
        request.started = decoded.count - (done?.count ?? 0)
        request.open = request.started
        let all = decoded.notifications
        var next = 0
        var refusals = decoded.refusals[...]
        var checked: Int?
        var checks: Checks?
        var fanOut: RequestKey.FanOut?
        for place in 0..<decoded.count {
            let position = decoded.count == 1 ? nil : place
            if let refusal = refusals.first, refusal.position == place {
                refusals.removeFirst()
                if let limit = refusal.failure.limit { counters.decodingLimits[Int(limit.rawValue)] += 1 }
                if done?.contains(place) != true {
                    let id = notificationID(refusal.id, position, of: request, key: decoded.key, &fanOut)
                    var end = Conclusion(request, refusal.failure, position: position, id: id)
                    if let hint = decoded.hint { end.report.add(hint) }
                    actions.append(.conclude(end))
                }
                continue
            }
            let index = next
            next += 1
            if done?.contains(place) == true { continue }
            // The notifications of a fan-out usually share payload and app, which are checked once.
            if checked.map({ !all[index].sharesChecks(with: all[$0]) }) ?? true {
                var finding = finding(in: all[index], of: request)
                if let hint = decoded.hint { finding = finding.map { "\($0); \(hint)" } ?? hint }
                checks = Checks(finding: finding, match: waiting.table.resolve(all[index]))
                checked = index
            }
            let id = notificationID(all[index].content.id, position, of: request, key: decoded.key, &fanOut)
            start(all[index], checks!, position: position, id: id, of: request, at: now)
        }
    }

    /// What was found out about a notification, and applies to others of its request.
    private struct Checks {
        let finding: String?
        let match: Result<AppTable.Match, DecodingFailure>
    }

    /// The maximum distance of `not-before` from now.
    private static let longestAhead = Duration.seconds(30 * 86_400)
    /// The longest wait for `not-before` in the worker if the shortest retry queue would end later.
    private static let longestStretch = Duration.seconds(5)

    /// A request waits for its `not-before` in the retry queues. If the shortest delay exceeds ``longestStretch``, the
    /// wait may end late by less than that delay.
    private func postpone(_ request: InFlightRequest, until start: WallTime, at now: Moment) {
        let pause = Duration.milliseconds(start.milliseconds - now.wall.milliseconds)
        // A request that waited before was admitted by the clock of the first worker.
        guard pause <= Self.longestAhead || request.history.deferrals > 0 else {
            let failure = DecodingFailure("not-before: more than 30 days ahead")
            return actions.append(.refuse(request, failure, settings.notificationID(of: request.delivery)))
        }
        let isShort = pause <= Self.longestStretch
        actions.append(.postpone(request, isShort ? pause : max(pause, settings.ladder.shortest)))
    }

    /// - Parameter fanOut: `nil` before the first notification of a fan-out.
    private func notificationID(
        _ own: NotificationID?, _ position: Int?, of request: InFlightRequest, key: ArraySlice<UInt8>?,
        _ fanOut: inout RequestKey.FanOut?
    ) -> NotificationID {
        let queue = settings.queues[request.delivery.queue.index].name
        guard own == nil, let position else {
            return RequestKey.notificationID(own: own, position: position, of: request.delivery, queue: queue, key: key)
        }
        if fanOut == nil { fanOut = RequestKey.FanOut(of: request.delivery, queue: queue, key: key) }
        return fanOut!.notificationID(at: position)
    }

    private mutating func start(
        _ notification: consuming Notification, _ checks: Checks, position: Int?, id: NotificationID,
        of request: InFlightRequest, at now: Moment
    ) {
        switch checks.match {
        case .failure(let failure):
            var report = Report(outcome: .invalid, detail: failure.detail)
            if let finding = checks.finding { report.add(finding) }
            actions.append(
                .conclude(
                    Conclusion(
                        request: request, notification: notification, position: position, id: id, report: report)))
        case .success(let match):
            if let report = refusal(of: notification, request) {
                actions.append(
                    .conclude(
                        Conclusion(
                            request: request, notification: notification, position: position, id: id, report: report)))
                return
            }
            let entry = InFlightNotification(
                request: request, notification: notification, position: position, id: id, match: match)
            entry.finding = checks.finding
            waiting.table.apps[match.app.index].inFlight += 1
            send(notifications.insert(entry), at: now)
        }
    }

    /// The reason not to send a notification whose app is known; `nil` to send it.
    private func refusal(of notification: borrowing Notification, _ request: InFlightRequest) -> Report? {
        guard request.delivery.redelivered, !notification.target.maySendAgain else { return nil }
        // The previous consumer may have sent it.
        return Report(
            outcome: .undelivered, processed: .unknown,
            detail: "redelivered: the channel may have been created already; list the channels before asking again")
    }
}
