import Core
import HTTP2

/// Checks requests against the rules, in Apple's order as far as known: see ``RequestRules``.
extension SimulatorEngine {
    func take(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        guard !streams.respondedEarly.contains(stream) else { return }
        guard stream <= streams.lastAllowed else { return ledger.count { $0.ceded += 1 } }
        let fields = RequestHeaders(request.headers)
        var (attempt, prepared) = enter(request, fields, id(of: fields), on: stream, at: now)
        do throws(SimulatedResponse) {
            let target = try open(fields)
            address(&prepared, to: target)
            try authenticate(fields, at: now)
            let plan = try check(target, request.body, subject(target, fields, attempt), &prepared, at: now)
            execute(plan, prepared, on: stream, at: now)
        } catch {
            prepared.response = error
            send(prepared, on: stream, at: now)
        }
    }

    /// Applies the early script rules to the headers of a request, before its body.
    func takeHeaders(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        let fields = RequestHeaders(request.headers)
        guard stream <= streams.lastAllowed, let target = try? open(fields) else { return }
        let id = id(of: fields)
        let subject = subject(target, fields, ledger.timesSeen(id) + 1)
        guard subject.operation == nil else { return }
        let plan = plan(subject, isEarly: true)
        guard plan != Plan() else { return }
        streams.respondedEarly.insert(stream)
        var (_, prepared) = enter(request, fields, id, on: stream, at: now)
        address(&prepared, to: target)
        execute(plan, prepared, on: stream, at: now)
    }

    /// Checks a request after its credential, and performs a channel operation.
    private func check(
        _ target: RequestTarget, _ body: [UInt8], _ subject: ScriptSubject, _ prepared: inout PreparedResponse,
        at now: Instant
    ) throws(SimulatedResponse) -> Plan {
        let (fields, channels) = (prepared.record.fields, context.channels)
        switch target {
        case .device(let token):
            try client.rules.check(device: token, fields, body: body)
            guard context.admits(device: subject.token ?? token, at: now) else {
                throw SimulatedResponse(
                    429, "TooManyRequests", "the device had more notifications than set device-limit allows")
            }
            return plan(subject)
        case .broadcast(let bundleID):
            try client.rules.check(broadcastTo: bundleID, fields, body: body) { channels.policy(of: $0, bundleID) }
            return plan(subject)
        case .channels(let bundleID), .allChannels(let bundleID):
            // Script rules that name the operation apply first. A rule that answers, or prevents the processing,
            // replaces the operation.
            let plan = plan(subject)
            guard let operation = subject.operation, isProcessed(prepared.record.stream, plan) else { return plan }
            do throws(SimulatedResponse) {
                prepared.response = try client.rules.perform(
                    operation, on: bundleID, fields, body: body, channels, random: &context.random)
            } catch {
                prepared.response = error
            }
            return plan
        }
    }

    /// The target of a request, if this port offers it.
    private func open(_ fields: RequestHeaders) throws(SimulatedResponse) -> RequestTarget {
        let target = try client.rules.open(fields)
        guard service.offers(target) else {
            throw SimulatedResponse(404, "BadPath", "this port does not offer the path")
        }
        return target
    }

    /// The client's apns-id or apns-request-id; a new one if it is missing or invalid.
    private func id(of fields: RequestHeaders) -> NotificationID {
        let stated = fields.id ?? fields.requestID
        let given = stated.flatMap { NotificationID($0[...]) }
        return given ?? context.makeID()
    }

    /// Counts a request.
    ///
    /// - Returns: the number of requests with its ID, including this one.
    private func enter(
        _ request: HTTP2Request, _ fields: RequestHeaders, _ id: NotificationID, on stream: Int32, at now: Instant
    ) -> (attempt: Int, PreparedResponse) {
        let violations = client.indexing.violations(in: request)
        if violations > 0 || request.hasPriority {
            ledger.count {
                $0.wronglyIndexedHeaders += violations
                if request.hasPriority { $0.priorityFrames += 1 }
            }
        }
        let attempt = ledger.received(id, headerBytes: request.headerBlockLength, payloadBytes: request.body.count)
        let record = SimulatorLedger.Record(
            apnsID: id, fields: fields, payload: request.body, connection: number, stream: stream, receivedAt: now,
            endedAt: now, ending: .lost)
        return (
            attempt, PreparedResponse(response: .accepted, headers: [PreparedResponse.id(id.bytes)], record: record)
        )
    }

    /// Adds what every response to a target has.
    private func address(_ prepared: inout PreparedResponse, to target: RequestTarget) {
        if case .device = target {
            prepared.addsUniqueID = context.configuration.environment == .development
            return
        }
        if case .broadcast = target { prepared.addsUniqueID = true }
        let stated = prepared.record.fields.requestID
        let given = stated.flatMap { NotificationID($0[...]) == nil ? nil : $0 }
        prepared.headers = [PreparedResponse.requestID(given ?? context.makeID().bytes)]
    }

    func addUniqueID(to prepared: inout PreparedResponse) {
        guard prepared.addsUniqueID else { return }
        prepared.headers.append(PreparedResponse.uniqueID(context.makeID().bytes))
    }

    private func subject(_ target: RequestTarget, _ fields: RequestHeaders, _ attempt: Int) -> ScriptSubject {
        var subject = ScriptSubject(topic: fields.topic?[...] ?? [], pushType: fields.pushType ?? [], attempt: attempt)
        switch target {
        case .device(let token): subject.token = Self.lowered(token)
        case .broadcast(let bundleID): if fields.topic == nil { subject.topic = bundleID }
        case .channels(let bundleID), .allChannels(let bundleID):
            subject.operation = ScriptOperation(target, fields.method ?? [])
            subject.topic = bundleID
        }
        return subject
    }

    private static func lowered(_ token: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard token.contains(where: { $0 < 0x61 && $0 > 0x40 }) else { return token }
        return ArraySlice(token.map { $0 > 0x40 ? $0 | 0x20 : $0 })
    }

    /// The effect of the script, else of a built-in device token.
    private func plan(_ subject: ScriptSubject, isEarly: Bool = false) -> Plan {
        var plan = context.script.plan(
            for: subject, isEarly: isEarly, &scriptRun.counters, &context.counters, random: &context.random)
        if !isEarly, context.configuration.hasBuiltInTokens, plan.ending == nil, plan.delay == nil,
            let token = subject.token, let entry = BuiltInTokens.entry(for: token)
        {
            plan.add(entry.actions, because: "the device token begins with \(entry.prefix)")
        }
        return plan
    }

    private func authenticate(_ fields: RequestHeaders, at now: Instant) throws(SimulatedResponse) {
        let moment = context.moment(at: now)
        if let certificate = client.rules.certificate {
            return try certificate.check(in: context.configuration.environment, at: moment.wall)
        }
        let (wasBound, updates) = (client.credential.isBound, client.credential.updates)
        client.rules.keyTopics = try client.credential.check(
            fields.authorization, at: moment, context.keys, context.configuration)
        if client.credential.updates > updates { ledger.count { $0.tokenUpdates += 1 } }
        if !wasBound { authenticated(at: now) }
    }

    /// The first valid provider token, or a certificate, raises the limit of one stream.
    func authenticated(at now: Instant) {
        client.rules.topics = context.topics(at: now)
        if context.configuration.streams != context.configuration.streamsBeforeToken {
            change(ServerSettings(maxConcurrentStreams: context.configuration.streams))
        }
        for rule in context.script.rules where rule.trigger == .authenticated { perform(rule.actions, at: now) }
    }
}
