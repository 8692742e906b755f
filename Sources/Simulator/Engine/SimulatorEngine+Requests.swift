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
        let (attempt, record) = enter(request, fields, id, on: stream, at: now)
        let arrival = Arrival(fields: fields, attempt: attempt, stream: stream, at: now)
        var prepared = PreparedResponse(
            response: .accepted, headers: [PreparedResponse.id(id.bytes)], record: record)
        do throws(SimulatedResponse) {
            let target = try open(fields)
            prepared.headers = headers(for: target, fields, id.bytes)
            prepared.addsUniqueID = addsUniqueID(target)
            let keyTopics = try authenticate(fields, at: now)
            try respond(to: target, body: request.body, keyTopics, arrival, prepared)
        } catch {
            prepared.response = error
            send(prepared, on: stream, at: now)
        }
    }

    /// - Parameter keyTopics: the bundle IDs of the provider token's key; empty for all.
    private func respond(
        to target: RequestTarget, body: [UInt8], _ keyTopics: [[UInt8]], _ arrival: Arrival,
        _ prepared: PreparedResponse
    ) throws(SimulatedResponse) {
        switch target {
        case .device(let token):
            try client.rules.check(
                device: token, arrival.fields, body: body, certificate: client.certificate, keyTopics: keyTopics)
            guard context.admits(device: Self.lowered(token), at: arrival.at) else {
                throw SimulatedResponse(
                    429, "TooManyRequests", "the device had more notifications than set device-limit allows")
            }
            finish(prepared, token, arrival)
        case .broadcast(let bundleID):
            let channels = context.channels
            try client.rules.check(
                broadcastTo: bundleID, arrival.fields, body: body, keyTopics: client.certificate?.topics ?? keyTopics
            ) { channels.policy(of: $0, bundleID) }
            finish(prepared, nil, arrival)
        case .channels(let bundleID), .allChannels(let bundleID):
            manage(
                prepared, target, bundleID, body: body, arrival, keyTopics: client.certificate?.topics ?? keyTopics)
        }
    }

    /// Handles a channel management request. Script rules that name its operation apply first. A rule that answers, or
    /// prevents the processing, replaces the operation.
    private func manage(
        _ prepared: PreparedResponse, _ target: RequestTarget, _ bundleID: ArraySlice<UInt8>, body: [UInt8],
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
        var prepared = prepared
        do throws(SimulatedResponse) {
            prepared.response =
                if case .allChannels = target {
                    try client.rules.list(channelsOf: bundleID, fields, keyTopics: keyTopics, context.channels)
                } else {
                    try client.rules.manage(
                        channelsOf: bundleID, fields, body: body, keyTopics: keyTopics, context.channels,
                        random: &context.random)
                }
        } catch {
            prepared.response = error
        }
        execute(plan, prepared, on: arrival.stream, at: arrival.at)
    }

    /// Applies the early script rules to the headers of a request, before its body.
    func takeHeaders(_ request: HTTP2Request, on stream: Int32, at now: Instant) {
        let fields = RequestFields(request.headers)
        guard stream <= streams.lastAllowed, let target = try? open(fields) else { return }
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
    private func open(_ fields: RequestFields) throws(SimulatedResponse) -> RequestTarget {
        let target = try client.rules.open(fields)
        guard service.offers(target) else {
            throw SimulatedResponse(404, "BadPath", "this port does not offer the path")
        }
        return target
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

    /// Responds to a valid notification: the response of script or built-in tokens, or 200.
    private func finish(_ prepared: PreparedResponse, _ token: ArraySlice<UInt8>?, _ arrival: Arrival) {
        execute(plan(token, arrival.fields, arrival.attempt), prepared, on: arrival.stream, at: arrival.at)
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

    /// - Returns: the bundle IDs of the provider token's key; empty for all.
    private func authenticate(_ fields: RequestFields, at now: Instant) throws(SimulatedResponse) -> [[UInt8]] {
        let moment = context.moment(at: now)
        if let certificate = client.certificate {
            try certificate.check(in: context.configuration.environment, at: moment.wall)
            return []
        }
        let (wasBound, updates) = (client.credential.isBound, client.credential.updates)
        let topics = try client.credential.check(
            fields.authorization, at: moment, context.keys, context.configuration)
        if client.credential.updates > updates { ledger.count { $0.tokenUpdates += 1 } }
        if !wasBound { authenticated(at: now) }
        return topics
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
