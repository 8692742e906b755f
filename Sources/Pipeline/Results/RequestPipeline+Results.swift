import Configuration
package import Core

/// From an outcome to the settlement.
extension RequestPipeline {
    /// - Parameter givesFeedback: whether an `unregistered` result goes to the feedback queue as well.
    package mutating func finish(
        _ handle: Handle, _ report: consuming Report, givesFeedback: Bool = true, at now: Moment
    ) {
        conclude(remove(handle).conclusion(report), givesFeedback: givesFeedback, at: now)
    }

    /// A notification ends in this worker, or waits in a retry queue.
    mutating func remove(_ handle: Handle) -> InFlightNotification {
        let entry = notifications.remove(handle)
        waiting.table.apps[entry.app.index].inFlight -= 1
        return entry
    }

    /// An invalid message gets one result and a dead letter.
    package mutating func refuse(
        _ request: InFlightRequest, _ failure: DecodingFailure, id: NotificationID?, at now: Moment
    ) {
        request.addParts()
        if let limit = failure.limit { counters.decodingLimits[Int(limit.rawValue)] += 1 }
        conclude(Conclusion(request, failure, id: id), at: now)
    }

    mutating func conclude(_ end: consuming Conclusion, givesFeedback: Bool = true, at now: Moment) {
        let request = end.request
        let outcome = end.report.outcome
        var isUndeliverable = false
        if case .unusable = request.reply {
            end.report.add(ReplyAddress.complaint)
            isUndeliverable = settings.results == nil
        }
        let isFailure = outcome.isFailure || isUndeliverable
        counters.outcomes[Int(outcome.rawValue)] += 1
        tally.count(app: end.app, end.pushType, outcome, end.report.reason)
        if let trace = request.trace { trace.concluded(end.report, isFailure: isFailure) }
        if let route = resultRoute(of: request, outcome: outcome) {
            var note = ResultNote(report: end.report, id: end.id, position: end.position, unfailed: isFailure ? 0 : 1)
            if settings.resultsPer == .request {
                note.json = encoder.body(of: end)
                request.results.append(note)
            } else {
                let kind = PendingPublication.Kind.result(note, isReply: request.namesReplyQueue)
                publish(encoder.encode(end, to: route), for: request, kind, at: now)
            }
        }
        if outcome == .unregistered, givesFeedback, let feedback = settings.feedback {
            publish(encoder.encode(end, to: feedback), for: request, .feedback, at: now)
        }
        if isFailure {
            let failures = request.failures ?? InFlightRequest.Failures(id: end.id, report: end.report)
            failures.join(id: end.id, report: end.report)
            failures.count += 1
            if let position = end.position {
                let failed = outcome.isFailure
                if failed { failures.positions.append(position) } else { failures.unrouted.append(position) }
            }
            if isUndeliverable { failures.results.append(encoder.body(of: end)) }
            request.failures = failures
        }
        partEnded(of: request, at: now)
    }

    /// Publishes the collected results of a request in the order of its notifications; parked notifications have none
    /// yet.
    private mutating func publish(_ unordered: [ResultNote], of request: InFlightRequest, at now: Moment) {
        var results = unordered
        // Usually they end in order.
        let isInOrder = results.indices.dropFirst().allSatisfy {
            results[$0 - 1].position ?? 0 <= results[$0].position ?? 0
        }
        if !isInOrder { results.sort { $0.position ?? 0 < $1.position ?? 0 } }
        // The first that is accepted represents all in a dead letter without a failure: a replay would notify again.
        var note = results[results.indices.first { results[$0].report.outcome == .accepted } ?? 0]
        note.unfailed = results.indices.reduce(0) { $0 + results[$1].unfailed }
        note.json = []
        note.position = nil
        request.joinedPositions = results.compactMap(\.position)
        request.addParts()
        let outcome = results.first { $0.report.outcome != .accepted }?.report.outcome ?? .accepted
        // A reload may have removed the route.
        if let route = resultRoute(of: request, outcome: outcome) {
            let result = encoder.encode(results, of: request.delivery, to: route)
            publish(result, for: request, .result(note, isReply: request.namesReplyQueue), at: now)
        }
        partEnded(of: request, at: now)
    }

    /// `reply_to` through the default exchange; otherwise the configured route.
    private func resultRoute(of request: InFlightRequest, outcome: Outcome) -> PublishRoute? {
        switch request.reply {
        case .queue(let name): PublishRoute(exchange: [], routingKey: name)
        case .unusable: settings.results
        case .none: settings.results(for: outcome)
        }
    }

    /// A notification or a publish of a request has ended.
    ///
    /// - Parameter requeues: whether unsent notifications return to their queue instead of a retry queue.
    mutating func partEnded(of request: InFlightRequest, requeues: Bool = false, at now: Moment) {
        switch request.endPart(mayReturn: requeues && mayReturn(request)) {
        case .wait: break
        case .results(let results): publish(results, of: request, at: now)
        case .deadLetter(let failures): deadLetter(request, failures, at: now)
        case .retry: publishRetry(request, at: now)
        case .requeue: requeue(request)
        case .decodeLater(let pause): decodeLater(request, for: pause, at: now)
        case .complete: complete(request, at: now)
        }
    }

    /// Parked notifications may fail later; they then get another dead letter.
    private mutating func deadLetter(_ request: InFlightRequest, _ failures: InFlightRequest.Failures, at now: Moment) {
        counters[.deadLetters] += 1
        var report = failures.report
        if request.notificationCount > 1 {
            let first = report.detail.map { ", first: \($0)" } ?? ""
            report.detail = "\(failures.count) of \(request.notificationCount) notifications failed\(first)"
        }
        let publication = settings.deadLetters.encode(
            request.delivery, report: report, results: failures.results, id: failures.id,
            queue: settings.queues[request.delivery.queue.index].name,
            decoder: settings.queues[request.delivery.queue.index].decoderName, firstSeen: request.arrived.wall,
            done: request.doneBitmap(leaving: failures.replayed), now: now.wall)
        publish(publication, for: request, .deadLetter, at: now)
    }
}
