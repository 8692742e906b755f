package import APNs
package import Core
import Logging

/// From the sending of a notification to its outcome.
extension RequestPipeline {
    /// Sends a notification, or holds it while its app or topic is paused or its queue's rate limit is exhausted.
    ///
    /// - Parameter isDue: whether it has already waited for the rate limit.
    mutating func send(_ handle: Handle, isDue: Bool = false, at now: Moment) {
        let entry = notifications[handle]
        if isTooLate(entry, at: now) { return finish(handle, entry.report(.expired), at: now) }
        guard !waiting.table.apps[entry.app.index].isRemoved else {
            let outcome = entry.attempts > 0 ? Outcome.undelivered : .invalid
            return finish(handle, entry.report(outcome, "the app was removed from the configuration"), at: now)
        }
        if isThrottled(entry, at: now) {
            // No attempt counts.
            if !entry.isNowOrNever { counters[.throttledNotifications] += 1 }
            let report = entry.report(.undelivered, "APNs throttles its device (TooManyRequests)")
            return park(handle, report, .throttled, at: now)
        }
        entry.pool = waiting.table.apps[entry.app.index].pools.pool(for: entry.notification.target)
        if let closed = waiting.admit(handle, entry, at: now.instant) {
            return hold(handle, entry, in: closed, at: now)
        }
        guard paces.isEmpty || takesPermit(handle, entry, isDue: isDue, at: now) else { return }
        if entry.firstAttempt == nil { entry.firstAttempt = now.instant }
        entry.submittedAt = now.instant
        startWaiting(entry, at: now)
        entry.place = .pool
        entry.isBeyondRecall = false
        append(.submit(handle, entry, pool: entry.pool, isProbe: waiting.isProbe(handle, entry)))
    }

    private mutating func isThrottled(_ entry: InFlightNotification, at now: Moment) -> Bool {
        guard !reachability.throttledDevices.isEmpty, case .device(let device) = entry.notification.target else {
            return false
        }
        return reachability.throttledDevices.contains(device, at: now.instant)
    }

    /// Sends nothing to the device of a refused notification for the first throttled delay.
    private mutating func throttle(_ entry: InFlightNotification, _ response: APNsResponse, at now: Moment) {
        guard response.reason == .tooManyRequests, case .device(let device) = entry.notification.target else { return }
        let end = now.instant + settings.ladder.throttlePeriod
        if reachability.throttledDevices.throttle(device, until: end, at: now.instant) {
            counters[.throttledDeviceLimitHits] += 1
        }
    }

    /// The lifetime of a notification with `apns-expiration: 0`.
    private static let nowOrNever = Duration.seconds(30)

    /// Whether its `apns-expiration` has passed; 0 means now or never.
    func isTooLate(_ entry: InFlightNotification, at now: Moment) -> Bool {
        if entry.request.startsTooLate { return true }
        if entry.isNowOrNever, now.instant - entry.request.dueSince >= Self.nowOrNever { return true }
        return hasExpired(entry.notification, of: entry.request, at: now.wall)
    }

    func hasExpired(_ notification: Notification, of request: InFlightRequest, at time: WallTime) -> Bool {
        if notification.content.hasExpired(at: time) { return true }
        guard let end = request.expiresAt else { return false }
        return end < time
    }

    /// A pool has finished with a notification, which is then no longer the probe of the pool's lane.
    private mutating func leftPool(_ handle: Handle, _ entry: InFlightNotification) {
        entry.place = .none
        waiting.releaseProbe(handle, of: .pool(entry.pool))
    }

    package mutating func recordDurations(_ handle: Handle, sentAt: Instant, at now: Moment) {
        timings.limiterWait.record(from: notifications[handle].submittedAt, to: sentAt)
        timings.apns.record(from: sentAt, to: now.instant)
    }

    package mutating func responded(_ handle: Handle, _ response: APNsResponse, at now: Moment) {
        let entry = notifications[handle]
        leftPool(handle, entry)
        reachability.responded(entry.pool, at: now.instant)
        let rule = response.rule
        if !rule.isKnown || rule.alarm != nil { announce(response, rule, entry.app) }
        if isOutdated(entry), refusesWhatChanged(rule, entry) { return resend(handle, entry, at: now) }
        switch rule.action {
        case .pauseApp, .pauseTopic, .reconnect, .renewToken, .keepToken:
            appRefused(handle, entry, rule, response.reason ?? RejectionReason(rawValue: "\(response.status)"), at: now)
        case .doubtToken: refusedToken(handle, entry, .unregistered, response, at: now)
        case .doubtTopic: refusedToken(handle, entry, .rejected, response, at: now)
        case .accept: answered(handle, entry, .accepted, response, at: now)
        case .unregister where isDeletedAlready(entry): answered(handle, entry, .accepted, response, at: now)
        case .unregister: answered(handle, entry, .unregistered, response, at: now)
        case .reject: answered(handle, entry, .rejected, response, at: now)
        // The pool has tried it three times.
        case .resend:
            let cause: RetryLadder.Cause? = isOutdated(entry) ? nil : .service
            tryFailed(handle, entry, report(.undelivered, entry, response), after: .no, cause, at: now)
        // APNs may have processed the request despite the error. This matters only if a repetition has side effects.
        case .retryLater where response.status >= 500 && !entry.notification.target.maySendAgain:
            tryFailed(handle, entry, report(.undelivered, entry, response), after: .unknown, .service, at: now)
        case .retryLater:
            throttle(entry, response, at: now)
            let cause: RetryLadder.Cause = response.status == 429 ? .throttled : .service
            tryFailed(handle, entry, report(.undelivered, entry, response), after: .yes, cause, at: now)
        }
    }

    /// Whether the missing channel is a success: the request deletes the channel, and an earlier try may have done so.
    private func isDeletedAlready(_ entry: InFlightNotification) -> Bool {
        guard case .management(.delete) = entry.notification.target else { return false }
        return entry.attempts > 0 || entry.request.delivery.redelivered
    }

    /// Handles a final response, and records what it proves about the app.
    mutating func answered(
        _ handle: Handle, _ entry: InFlightNotification, _ outcome: Outcome, _ response: APNsResponse, at now: Moment
    ) {
        let proof = response.rule.proof
        entry.attemptEnded(.yes)
        if proof == .token { recordTokenResponse(entry, isRefusal: false) }
        reachability.lastResponse = now.instant
        checkIfSuspended(at: now)
        waiting.table.apps[entry.app.index].lanes[entry.lane.index].hasResponded = true
        recordProof(handle, entry, showing: proof, at: now)
        var report = report(outcome, entry, response)
        if outcome == .accepted, !response.isSuccess { report.detail = "deleted by an earlier attempt" }
        finish(handle, report, at: now)
    }

    func report(_ outcome: Outcome, _ entry: InFlightNotification, _ response: APNsResponse) -> Report {
        var report = Report(
            outcome: outcome, status: response.status, reason: response.reason, timestamp: response.timestamp,
            uniqueID: response.uniqueID, attempts: entry.attempts, processed: .yes)
        if case .management(let operation) = entry.notification.target { report.add(response, to: operation) }
        return report
    }

    package mutating func lost(_ handle: Handle, _ loss: Loss, at now: Moment) {
        let entry = notifications[handle]
        leftPool(handle, entry)
        if loss.processed == .no, isOutdated(entry) { return resend(handle, entry, at: now) }
        if let reason = loss.goawayReason, let rule = ResponseRule.documented(reason), rule.action.pause != nil,
            isRepeatable(entry, after: loss.processed), !isOutdated(entry)
        {
            if loss.processed == .unknown { counters[.uncertain] += 1 }
            entry.attemptEnded(loss.processed)
            appRefused(handle, entry, rule, reason, at: now)
            return
        }
        tryFailed(handle, entry, entry.report(.undelivered, loss.detail), after: loss.processed, nil, at: now)
    }

    private func isRepeatable(_ entry: InFlightNotification, after processed: Processed) -> Bool {
        processed != .unknown || entry.notification.target.maySendAgain
    }

    /// A try failed. It is retried in this process, or its round has ended: the next one starts from a retry queue,
    /// unless the attempts are used up.
    ///
    /// - Parameter cause: why a retry within seconds would fail as well; `nil` if it may succeed immediately.
    private mutating func tryFailed(
        _ handle: Handle, _ entry: InFlightNotification, _ report: Report, after processed: Processed,
        _ cause: RetryLadder.Cause?, at now: Moment
    ) {
        if processed == .unknown { counters[.uncertain] += 1 }
        entry.tryFailed(processed)
        recordProof(handle, entry, showing: .none, at: now)
        let isRepeatable = isRepeatable(entry, after: processed)
        guard let cause = cause ?? (isRepeatable ? retry(handle, entry, at: now) : .service) else { return }
        if isRepeatable { entry.roundEnded() }
        var report = report
        (report.attempts, report.processed) = (entry.attempts, entry.processedIfFailed)
        if isRepeatable, hasAttemptsLeft(entry) {
            return park(handle, report, cause, at: now)
        }
        if report.detail == nil {
            report.detail = "given up after \(entry.attempts) \(entry.attempts == 1 ? "attempt" : "attempts")"
        }
        finish(handle, report, at: now)
    }

    /// A notification expired in its pool before it was sent.
    package mutating func expired(_ handle: Handle, at now: Moment) {
        let entry = notifications[handle]
        entry.place = .none
        waiting.releaseProbes(handle, entry)
        finish(handle, entry.report(.expired), at: now)
    }

    /// While its app is paused, only the number of tries is limited. A throttled device must not stay the app's only
    /// probe for ever.
    ///
    /// - Returns: why it has no retry within seconds; `nil` if it has one.
    private mutating func retry(
        _ handle: Handle, _ entry: InFlightNotification, at now: Moment
    ) -> RetryLadder.Cause? {
        let (credential, topic) = entry.appPlaces
        if let closed = [credential, topic].first(where: { !waiting.isOpen($0) }) {
            guard entry.failedTries < InProcessRetry.maximumTries, hasAttemptsLeft(entry) else { return .service }
            hold(handle, entry, in: closed, at: now)
            return nil
        }
        guard let began = entry.firstAttempt else { preconditionFailure("an ended notification must have an attempt") }
        let elapsed = now.instant - began
        guard hasAttemptsLeft(entry),
            let pause = InProcessRetry.pause(afterTries: entry.failedTries, elapsed: elapsed, using: &random)
        else { return .service }
        guard retries.count < maximumWaitingRetries || isOnlyRetry(entry) else { return .processLimit }
        counters[.retries] += 1
        entry.waitingSince = nil
        entry.place = .retry
        retries.insert(handle, due: now.instant + pause)
        countRetry(of: entry.request, by: 1)
        return nil
    }

    /// Whether no other request of its queue waits for a retry: a queue with prefetch 1 keeps its order.
    private func isOnlyRetry(_ entry: InFlightNotification) -> Bool {
        retriesOfQueue[entry.request.queue.index] == entry.request.retries
    }

    mutating func countRetry(of request: InFlightRequest, by change: Int) {
        retriesOfQueue[request.queue.index] += change
        request.retries += change
    }

    func hasAttemptsLeft(_ entry: InFlightNotification) -> Bool {
        entry.attempts < settings.ladder.maximumAttempts
    }

    private static let maximumAnnounced = 100

    /// Logs each reason once if operators should know about it.
    private mutating func announce(_ response: APNsResponse, _ rule: ResponseRule, _ app: AppID) {
        if !rule.isKnown { counters[.unknownReasons] += 1 }
        let reason = response.reason?.rawValue ?? "status \(response.status) without a reason"
        guard announced.count < Self.maximumAnnounced, announced.insert(reason).inserted else { return }
        let metadata = waiting.appMetadata(
            app, ["status": .stringConvertible(response.status), "reason": "\(reason)"])
        if let alarm = rule.alarm {
            log.error("\(alarm)", metadata: metadata)
        } else {
            log.warning("APNs gave an undocumented reason: the status decides the outcome", metadata: metadata)
        }
    }
}
