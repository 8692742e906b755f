package import Core

/// From an outcome to the settlement.
extension Pipeline {
    /// - Parameter givesFeedback: whether an `unregistered` result goes to the feedback queue as well.
    package func finish(_ handle: UInt32, _ report: consuming Report, givesFeedback: Bool = true, at now: Moment) {
        conclude(notifications.remove(handle), report, givesFeedback: givesFeedback, at: now)
    }

    func conclude(
        _ entry: InFlightNotification, _ report: consuming Report, givesFeedback: Bool = true, at now: Moment
    ) {
        if let finding = entry.finding { report.detail = report.detail.map { "\($0); \(finding)" } ?? finding }
        conclude(
            entry.request, entry.notification, position: entry.position, id: entry.id, app: entry, report: report,
            givesFeedback: givesFeedback, at: now)
    }

    /// A message that is no request gets one result and a dead letter.
    func refuse(_ request: InFlightRequest, _ failure: DecodingFailure, id: NotificationID?, at now: Moment) {
        request.open = 1
        if let limit = failure.limit { counters.decodingLimits[Int(limit.rawValue)] += 1 }
        conclude(
            request, nil, position: nil, id: id, report: Report(outcome: .invalid, detail: failure.detail), at: now)
    }

    /// What the results of a message that is no request are told apart by.
    func notificationID(of delivery: Delivery) -> NotificationID {
        RequestKey.notificationID(
            own: nil, position: nil, of: delivery, queue: settings.queues[delivery.queue].name)
    }

    func conclude(
        _ request: InFlightRequest, _ notification: Notification?, position: Int?, id: NotificationID?,
        app: InFlightNotification? = nil, report: consuming Report, givesFeedback: Bool = true, at now: Moment
    ) {
        let isFailure = settings.callsForDeadLetter(report.outcome)
        let failure =
            isFailure && request.firstFailure == nil ? InFlightRequest.Failure(id: id, report: copy report) : nil
        counters.outcomes[Int(report.outcome.rawValue)] += 1
        tally.count(app: app?.app, notification?.pushType, report.outcome, report.reason)
        let delivery = request.delivery
        let route = resultRoute(for: delivery, outcome: report.outcome)
        let feedback = report.outcome == .unregistered && givesFeedback ? settings.feedback : nil
        if route != nil || feedback != nil {
            let result = encoder.encode(
                report, id: id, position: position, notification: notification, topic: app?.topic,
                environment: app.map { apps.apps[$0.app].environment } ?? notification?.environment, delivery: delivery,
                format: settings.queues[delivery.queue].resultFormat)
            if let route {
                publish(result.publication(to: route), for: request, .result(report: report, id: id), at: now)
            }
            if let feedback {
                publish(result.publication(to: feedback), for: request, .feedback, at: now)
            }
        }
        if isFailure {
            request.failures += 1
            if let position { request.failed.append(position) }
            if request.firstFailure == nil { request.firstFailure = failure }
        }
        closeOne(of: request, at: now)
    }

    /// `reply_to` through the default exchange; without it, what the configuration says.
    func resultRoute(for delivery: Delivery, outcome: Outcome) -> PublishRoute? {
        if let replyTo = delivery.replyTo, !replyTo.isEmpty {
            return PublishRoute(exchange: [], routingKey: replyTo)
        }
        return settings.results(for: outcome)
    }

    /// One notification or publication of the request has ended.
    func closeOne(of request: InFlightRequest, at now: Moment) {
        request.open -= 1
        guard request.open == 0 else { return }
        if let failure = request.firstFailure {
            request.firstFailure = nil
            deadLetter(request, failure, at: now)
        } else if !request.parked.isEmpty {
            publishRetry(request, at: now)
        } else {
            complete(request, at: now)
        }
    }

    func deadLetter(_ request: InFlightRequest, _ failure: InFlightRequest.Failure, at now: Moment) {
        counters.deadLetters += 1
        var report = failure.report
        if request.notifications > 1 {
            let first = report.detail.map { ", first: \($0)" } ?? ""
            report.detail = "\(request.failures) of \(request.notifications) notifications failed\(first)"
        }
        let publication = settings.deadLetters.encode(
            request.delivery, report: report, results: failure.results, id: failure.id,
            queue: settings.queues[request.delivery.queue].name,
            decoder: settings.queues[request.delivery.queue].decoderName, firstSeen: request.arrived.wall,
            done: request.doneBitmap(leaving: request.failed), now: now.wall)
        // What is parked may fail as well, and then has a dead letter of its own.
        request.failures = 0
        request.failed = []
        publish(publication, for: request, .deadLetter, at: now)
    }

    func complete(_ request: InFlightRequest, at now: Moment) {
        counters.unsettled -= 1
        timings.request.record(from: request.arrived.instant, to: now.instant)
        guard !request.isOrphan else { return completed.completedTooLate(orphans.remove(request)) }
        if let key = request.namedKey { completed.completed(key) }
        actions.append(.settle(request.delivery, .ack))
    }
}
