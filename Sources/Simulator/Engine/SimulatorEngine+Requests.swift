import Core
import HTTP2

/// Checks requests against the rules, in Apple's order as far as known: see ``RequestRules``.
extension SimulatorEngine {
    /// A complete request.
    private struct Arrival {
        let fields: RequestFields
        /// The number of requests with its ID, including this one.
        let attempt: Int
        let stream: Int32
        let at: Instant
    }

    func take(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        guard !streams.respondedEarly.contains(stream) else { return }
        guard stream <= streams.lastAllowed else { return ledger.count { $0.ceded += 1 } }
        let fields = RequestFields(request.headers)
        let id = id(of: fields)
        let idBytes = id.bytes
        let (attempt, record) = enter(request, fields, id, on: stream, at: now)

        let target: RequestTarget
        switch open(fields) {
        case .refused(let response):
            let prepared = PreparedResponse(response: response, headers: [PreparedResponse.id(idBytes)], record: record)
            return send(prepared, on: stream, at: now)
        case .target(let found): target = found
        }
        let arrival = Arrival(fields: fields, attempt: attempt, stream: stream, at: now)
        var prepared = PreparedResponse(
            response: .accepted, headers: headers(for: target, fields, idBytes), record: record,
            addsUniqueID: addsUniqueID(target))
        let keyTopics: [[UInt8]]
        switch authenticate(fields, at: now) {
        case .refused(let response):
            prepared.response = response
            return send(prepared, on: stream, at: now)
        case .valid(let topics): keyTopics = topics
        }
        switch target {
        case .device(let token):
            let refusal = client.rules.check(
                device: token, fields, body: request.body, certificate: client.certificate, keyTopics: keyTopics)
            finish(&prepared, refusal, token, arrival)
        case .broadcast(let bundleID):
            let channels = context.channels
            let refusal = client.rules.check(
                broadcastTo: bundleID, fields, body: request.body, keyTopics: client.certificate?.topics ?? keyTopics
            ) { channels.policy(of: $0, bundleID) }
            finish(&prepared, refusal, nil, arrival)
        case .channels(let bundleID), .allChannels(let bundleID):
            manage(
                &prepared, target, bundleID, body: request.body, arrival,
                keyTopics: client.certificate?.topics ?? keyTopics)
        }
    }

    /// Handles a channel management request. Script rules that name its operation apply first. A rule that answers, or
    /// prevents the processing, replaces the operation.
    private func manage(
        _ prepared: inout PreparedResponse, _ target: RequestTarget, _ bundleID: ArraySlice<UInt8>, body: [UInt8],
        _ arrival: Arrival, keyTopics: [[UInt8]]
    ) {
        let fields = arrival.fields
        let subject = ScriptSubject(
            operation: ScriptOperation(target, fields.method ?? []), topic: bundleID, pushType: [],
            attempt: arrival.attempt)
        let plan = context.script.plan(
            for: subject, isEarly: false, &scriptRun.counters, &context.counters, random: &context.random)
        guard isProcessed(arrival.stream, plan) else {
            return execute(plan, prepared, on: arrival.stream, at: arrival.at)
        }
        let result =
            if case .allChannels = target {
                client.rules.list(channelsOf: bundleID, fields, keyTopics: keyTopics, context.channels)
            } else {
                client.rules.manage(
                    channelsOf: bundleID, fields, body: body, keyTopics: keyTopics, context.channels,
                    random: &context.random)
            }
        if let channelID = result.channelID { prepared.headers.append(PreparedResponse.channelID(channelID)) }
        prepared.response = result.response
        prepared.body = result.body
        execute(plan, prepared, on: arrival.stream, at: arrival.at)
    }

    /// Applies the early script rules to the headers of a request, before its body.
    func takeHeaders(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        let fields = RequestFields(request.headers)
        guard stream <= streams.lastAllowed, case .target(let target) = open(fields) else { return }
        let token: ArraySlice<UInt8>?
        switch target {
        case .device(let name): token = name
        case .broadcast: token = nil
        case .channels, .allChannels: return
        }
        let id = id(of: fields)
        let subject = subject(token.map(Self.lowered), fields, attempt: ledger.timesSeen(id) + 1)
        let plan = context.script.plan(
            for: subject, isEarly: true, &scriptRun.counters, &context.counters, random: &context.random)
        guard plan != Plan() else { return }
        streams.respondedEarly.insert(stream)
        let (_, record) = enter(request, fields, id, on: stream, at: now)
        let prepared = PreparedResponse(
            response: .accepted, headers: headers(for: target, fields, id.bytes), record: record,
            addsUniqueID: addsUniqueID(target))
        execute(plan, prepared, on: stream, at: now)
    }

    /// The target of a request, if this port offers it.
    private func open(_ fields: RequestFields) -> RequestRules.Opening {
        let opening = client.rules.open(fields)
        if case .target(let target) = opening, !service.offers(target) {
            return .refused(SimulatedResponse(404, "BadPath", cause: "this port does not offer the path"))
        }
        return opening
    }

    /// The client's apns-id or apns-request-id; a new one if it is missing or invalid.
    private func id(of fields: RequestFields) -> NotificationID {
        let stated = fields.id ?? fields.requestID
        let given = RequestRules.isCanonicalUUID(stated) ? stated.flatMap { NotificationID($0[...]) } : nil
        return given ?? context.makeID()
    }

    /// Adds a request to the ledger.
    private func enter(
        _ request: HTTP2Request, _ fields: RequestFields, _ id: NotificationID, on stream: Int32, at now: Instant
    ) -> (attempt: Int, SimulatorLedger.Record) {
        observe(request)
        let attempt = ledger.received(id, headerBytes: request.headerBlockLength, payloadBytes: request.body.count)
        let record = SimulatorLedger.Record(
            apnsID: id, fields: fields, payload: request.body, connection: number,
            stream: stream, receivedAt: now, endedAt: now, ending: .lost)
        return (attempt, record)
    }

    private func subject(
        _ token: ArraySlice<UInt8>?, _ fields: RequestFields, attempt: Int
    ) -> ScriptSubject {
        let topic = fields.topic?[...] ?? fields.path?.split(separator: UInt8(ascii: "/")).last ?? []
        return ScriptSubject(token: token, topic: topic, pushType: fields.pushType ?? [], attempt: attempt)
    }

    /// Responds to a notification: a refusal by the rules, the response of script or built-in tokens, or 200.
    private func finish(
        _ prepared: inout PreparedResponse, _ refusal: SimulatedResponse?, _ token: ArraySlice<UInt8>?,
        _ arrival: Arrival
    ) {
        if let refusal = refusal ?? throttled(token, at: arrival.at) {
            prepared.response = refusal
            return send(prepared, on: arrival.stream, at: arrival.at)
        }
        let plan = plan(token, arrival.fields, arrival.attempt)
        if plan == Plan() {
            addUniqueID(to: &prepared)
            return send(prepared, on: arrival.stream, at: arrival.at)
        }
        execute(plan, prepared, on: arrival.stream, at: arrival.at)
    }

    private func throttled(_ token: ArraySlice<UInt8>?, at now: Instant) -> SimulatedResponse? {
        guard let token, !context.admits(device: Self.lowered(token), at: now) else { return nil }
        return SimulatedResponse(
            429, "TooManyRequests", cause: "the device had more notifications than set device-limit allows")
    }

    private func plan(_ token: ArraySlice<UInt8>?, _ fields: RequestFields, _ attempt: Int) -> Plan {
        var plan = Plan()
        guard !context.script.rules.isEmpty || context.configuration.hasBuiltInTokens else { return plan }
        let token = token.map(Self.lowered)
        if !context.script.rules.isEmpty {
            plan = context.script.plan(
                for: subject(token, fields, attempt: attempt), isEarly: false, &scriptRun.counters, &context.counters,
                random: &context.random)
        }
        if context.configuration.hasBuiltInTokens, plan.ending == nil, plan.delay == nil, let token,
            let entry = BuiltInTokens.entry(for: token)
        {
            plan.add(entry.actions, because: "the device token begins with \(entry.prefix)")
        }
        return plan
    }

    private static func lowered(_ token: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard token.contains(where: { $0 < 0x61 && $0 > 0x40 }) else { return token }
        return ArraySlice(token.map { $0 > 0x40 ? $0 | 0x20 : $0 })
    }

    /// Whether a successful response has `apns-unique-id`.
    private func addsUniqueID(_ target: RequestTarget) -> Bool {
        switch target {
        case .device: context.configuration.environment == .development
        case .broadcast: true
        case .channels, .allChannels: false
        }
    }

    func addUniqueID(to prepared: inout PreparedResponse) {
        guard prepared.addsUniqueID else { return }
        prepared.headers.append(PreparedResponse.uniqueID(context.makeID().bytes))
    }

    /// The headers of every response to a target.
    private func headers(for target: RequestTarget, _ fields: RequestFields, _ id: [UInt8]) -> [HTTP2Header] {
        if case .device = target { return [PreparedResponse.id(id)] }
        let isGood = RequestRules.isCanonicalUUID(fields.requestID)
        return [
            PreparedResponse.requestID(isGood ? fields.requestID ?? context.makeID().bytes : context.makeID().bytes)
        ]
    }

    private func authenticate(_ fields: RequestFields, at now: Instant) -> CredentialBinding.Verdict {
        if let certificate = client.certificate {
            let refusal = certificate.refusal(
                in: context.configuration.environment, at: context.moment(at: now).wall)
            return refusal.map { .refused($0) } ?? .valid(keyTopics: [])
        }
        let wasBound = client.credential.isBound
        let updates = client.credential.updates
        let verdict = client.credential.check(
            fields.authorization, at: context.moment(at: now), context.keys, context.configuration)
        if client.credential.updates > updates { ledger.count { $0.tokenUpdates += 1 } }
        if !wasBound, client.credential.isBound { authenticated(at: now) }
        return verdict
    }

    /// The first valid provider token, or a certificate, raises the limit of one stream.
    func authenticated(at now: Instant) {
        client.rules = context.rules(at: now)
        if context.configuration.streams != context.configuration.streamsBeforeToken {
            change(ServerSettings(maxConcurrentStreams: context.configuration.streams))
        }
        for rule in context.script.rules where rule.trigger == .authenticated { perform(rule.actions, at: now) }
    }

    private func observe(_ request: HTTP2Request) {
        let violations = client.indexing.violations(in: request)
        guard violations > 0 || request.hasPriority else { return }
        ledger.count {
            $0.wronglyIndexedHeaders += violations
            if request.hasPriority { $0.priorityFrames += 1 }
        }
    }
}
