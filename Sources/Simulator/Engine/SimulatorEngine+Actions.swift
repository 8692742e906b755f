package import Core
import HTTP2

/// The effects of scripts, built-in tokens and responses on the connection.
extension SimulatorEngine {
    func execute(_ plan: ScriptPlan, _ prepared: PreparedResponse, on stream: Int32, at now: Instant) {
        // A cut without a response, or a GOAWAY that excludes the stream, comes first.
        let isCut = plan.connectionActions.contains(.cut)
        if isCut, plan.ending == nil {
            ended(prepared.record, .lost, at: now)
            return cut(withOutput: false, at: now)
        }
        for case .goaway(let goaway) in plan.connectionActions where !Self.covers(goaway) {
            ledger.count { $0.ceded += 1 }
            return perform(plan.connectionActions, trigger: stream, at: now)
        }
        var prepared = prepared
        switch plan.ending {
        case .silence:
            silent.insert(stream)
            ended(prepared.record, .silent, because: plan.cause, at: now)
        case .reset(let code):
            prepared.reset = code
            prepared.response.cause = plan.cause
            schedule(prepared, plan.delay, on: stream, at: now)
        case .respond(let response):
            prepared.response = response
            prepared.response.cause = plan.cause
            if response.status == 410, response.timestamp == nil {
                // By default the token has been dead for a day.
                prepared.response.timestamp = context.moment(at: now).wall.milliseconds - 86_400_000
            }
            schedule(prepared, plan.delay, on: stream, at: now)
        default:
            schedule(prepared, plan.delay, on: stream, at: now)
        }
        perform(plan.connectionActions, trigger: stream, at: now)
    }

    private func schedule(
        _ prepared: PreparedResponse, _ delay: ClosedRange<Duration>?, on stream: Int32, at now: Instant
    ) {
        guard let delay else { return send(prepared, on: stream, at: now) }
        let range = delay.lowerBound.nanoseconds...delay.upperBound.nanoseconds
        waiting[stream] = prepared
        timers.insert(
            .respond(stream: stream), due: now + .nanoseconds(Int64.random(in: range, using: &context.random)))
    }

    func send(_ prepared: PreparedResponse, on stream: Int32, at now: Instant) {
        let response = prepared.response
        if let code = prepared.reset {
            ended(prepared.record, .reset(code), because: response.cause, at: now)
            return attempt { () throws(HTTP2Error) in try http.reset(stream: stream, code: code) }
        }
        let message = prepared.message(
            in: context.configuration.environment, uniqueID: NotificationID.random(using: &context.random))
        var isSent = false
        attempt { () throws(HTTP2Error) in isSent = try http.respond(stream: stream, message) }
        if response.rest != .body { silent.insert(stream) }
        if case .reset(let code) = response.rest { resets.append((stream, code)) }
        ended(
            prepared.record, isSent ? .responded(response.status, reason: response.reason) : .lost,
            because: response.cause, at: now)
    }

    // MARK: Connection

    /// Performs the actions of a connection; those of a request have no effect here.
    ///
    /// - Parameter trigger: the stream whose request caused them.
    package func perform(_ actions: [ScriptAction], trigger: Int32? = nil, at now: Instant) {
        guard !wasClosed else { return }
        for action in actions {
            switch action {
            case .goaway(let goaway): begin(goaway, trigger: trigger, at: now)
            case .cut: cut(withOutput: trigger != nil, at: now)
            case .settings(let settings): change(settings)
            case .hold(let duration):
                http.holdsOutput = true
                heldUntil = max(heldUntil, now + duration)
                timers.insert(.release, due: now + duration)
            case .ping(let count):
                attempt { () throws(HTTP2Error) in for _ in 0..<count { try http.raw.ping() } }
            case .respond, .delay, .silence, .reset: continue
            }
        }
    }

    /// Whether the request is processed, even if the client gets no response.
    func isProcessed(_ plan: ScriptPlan) -> Bool {
        switch plan.ending {
        case .respond, .reset(.refusedStream): return false
        default: break
        }
        return plan.connectionActions.allSatisfy { action in
            if case .goaway(let goaway) = action { Self.covers(goaway) } else { true }
        }
    }

    private static func covers(_ goaway: ScriptGoaway) -> Bool {
        goaway.last == .all || goaway.last == .this
    }

    private func begin(_ goaway: ScriptGoaway, trigger: Int32?, at now: Instant) {
        let last: Int32? =
            switch goaway.last {
            case .all: nil
            case .this: trigger
            case .before: max(0, (trigger ?? 1) - 2)
            case .none: 0
            }
        guard let notice = goaway.announcedBy else { return sendGoaway(goaway, last: last, at: now) }
        if let last { lastAllowed = min(lastAllowed, last) }
        attempt { () throws(HTTP2Error) in try http.goaway(lastStreamID: .max) }
        timers.insert(.goaway(goaway, last: last), due: now + notice)
    }

    /// - Parameter last: `nil` for the highest stream seen.
    func sendGoaway(_ goaway: ScriptGoaway, last: Int32?, at now: Instant) {
        // The last-stream-id of a later GOAWAY must not be higher (RFC 9113, section 6.8).
        let last = min(lastAllowed, last ?? http.lastStreamID)
        lastAllowed = last
        let reason = goaway.reason.map { SimulatedResponse(503, $0).body } ?? []
        attempt { () throws(HTTP2Error) in try http.goaway(lastStreamID: last, code: goaway.code, debugData: reason) }
        let ceded = waiting.keys.filter { $0 > last }
        for stream in ceded { waiting[stream] = nil }
        ledger.count {
            $0.goaways += 1
            $0.ceded += ceded.count
        }
        guard case .open = phase else { return }
        switch goaway.closing {
        case .responded: phase = .draining
        case .now:
            loseWaiting(at: now)
            phase = .ending(withCloseNotify: true)
        case .never: break
        }
    }

    /// Closes the connection without GOAWAY or close_notify.
    private func cut(withOutput: Bool, at now: Instant) {
        if case .ended = phase { return }
        ledger.count { $0.cuts += 1 }
        loseWaiting(at: now)
        phase = withOutput ? .ending(withCloseNotify: false) : .ended
    }

    func change(_ settings: [HTTP2Setting: UInt32]) {
        attempt { () throws(HTTP2Error) in try http.raw.submitSettings(settings) }
    }

    /// Calls the HTTP/2 session; a failure ends the connection.
    private func attempt(_ body: () throws(HTTP2Error) -> Void) {
        do {
            try body()
        } catch {
            fail(error)
        }
    }
}
