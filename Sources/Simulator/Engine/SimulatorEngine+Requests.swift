import Core
import HTTP2

/// Checks requests against the rules, in Apple's order as far as known: see ``RequestRules``.
extension SimulatorEngine {
    func take(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        guard stream <= lastAllowed else { return ledger.count { $0.ceded += 1 } }
        let fields = RequestHeaders(request.headers)
        var (attempt, prepared) = enter(request, fields, on: stream, at: now)
        do throws(SimulatedResponse) {
            let target = try RequestTarget(fields)
            prepared.target = target
            try authenticate(fields, at: now)
            let plan = try check(target, request.body, subject(target, fields, attempt), &prepared, at: now)
            execute(plan, prepared, on: stream, at: now)
        } catch {
            prepared.response = error
            send(prepared, on: stream, at: now)
        }
    }

    /// Checks a request after its credential, and performs a channel operation.
    private func check(
        _ target: RequestTarget, _ body: [UInt8], _ subject: ScriptSubject, _ prepared: inout PreparedResponse,
        at now: Instant
    ) throws(SimulatedResponse) -> ScriptPlan {
        let (fields, channels) = (prepared.record.fields, context.channels)
        switch target {
        case .device(let token):
            try rules.check(device: token, fields, body: body)
            guard context.admits(device: subject.token ?? token, at: now) else {
                throw SimulatedResponse(
                    429, "TooManyRequests", "the device had more notifications than set device-limit allows")
            }
            return plan(subject)
        case .broadcast(let bundleID):
            try rules.check(broadcastTo: bundleID, fields, body: body) { channels.policy(of: $0, bundleID) }
            return plan(subject)
        case .channels(let operation, let bundleID):
            // Script rules that name the operation apply first. A rule that answers, or prevents the processing,
            // replaces the operation.
            let plan = plan(subject)
            guard isProcessed(plan) else { return plan }
            do throws(SimulatedResponse) {
                prepared.response = try rules.perform(
                    operation, on: bundleID, fields, body: body, channels, random: &context.random)
            } catch {
                prepared.response = error
            }
            return plan
        }
    }

    /// - Returns: the number of requests with its ID, including this one.
    private func enter(
        _ request: HTTP2Request, _ fields: RequestHeaders, on stream: Int32, at now: Instant
    ) -> (attempt: Int, PreparedResponse) {
        let given = (fields.id ?? fields.requestID).flatMap { NotificationID($0[...]) }
        let id = given ?? NotificationID.random(using: &context.random)
        if request.hasPriority { ledger.count { $0.priorityFrames += 1 } }
        let attempt = ledger.received(id, headerBytes: request.headerBlockLength, payloadBytes: request.body.count)
        let record = SimulatorLedger.Record(
            apnsID: id, fields: fields, payload: request.body, connection: number, stream: stream, receivedAt: now,
            endedAt: now, ending: .lost)
        return (attempt, PreparedResponse(record: record))
    }

    private func subject(_ target: RequestTarget, _ fields: RequestHeaders, _ attempt: Int) -> ScriptSubject {
        var subject = ScriptSubject(topic: fields.topic?[...] ?? [], pushType: fields.pushType ?? [], attempt: attempt)
        switch target {
        case .device(let token): subject.token = Self.lowered(token)
        case .broadcast(let bundleID): if fields.topic == nil { subject.topic = bundleID }
        case .channels(let operation, let bundleID):
            subject.operation = operation
            subject.topic = bundleID
        }
        return subject
    }

    private static func lowered(_ token: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard token.contains(where: { $0 < 0x61 && $0 > 0x40 }) else { return token }
        return ArraySlice(token.map { $0 > 0x40 ? $0 | 0x20 : $0 })
    }

    /// The effect of the script, else of a built-in device token.
    private func plan(_ subject: ScriptSubject) -> ScriptPlan {
        var plan = context.script.plan(
            for: subject, &counters, &context.counters, random: &context.random)
        if context.configuration.hasBuiltInTokens, plan.ending == nil, plan.delay == nil,
            let token = subject.token, let entry = BuiltInTokens.all.first(where: { token.hasPrefix($0.prefix) })
        {
            plan.add(entry.actions, because: "the device token begins with \(entry.prefix)")
        }
        return plan
    }

    private func authenticate(_ fields: RequestHeaders, at now: Instant) throws(SimulatedResponse) {
        let moment = context.moment(at: now)
        if let certificate = rules.certificate {
            return try certificate.check(in: context.configuration.environment, at: moment.wall)
        }
        let (wasBound, updates) = (credential.isBound, credential.updates)
        rules.keyTopics = try credential.check(
            fields.authorization, at: moment, context.keys, context.configuration.environment)
        if credential.updates > updates { ledger.count { $0.tokenUpdates += 1 } }
        if !wasBound { authenticated(at: now) }
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS of a client that has proven who it is.
    private static let streams: UInt32 = 1000

    /// The first valid provider token, or a certificate, raises the limit of one stream.
    func authenticated(at now: Instant) {
        rules.topics = context.topics(at: now)
        if context.configuration.streamsBeforeToken != Self.streams {
            change([.maxConcurrentStreams: Self.streams])
        }
        for rule in context.script.rules where rule.trigger == .authenticated { perform(rule.actions, at: now) }
    }
}
