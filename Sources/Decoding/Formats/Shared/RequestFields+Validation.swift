import Core

extension RequestFields {
    /// The maximum number of device tokens in a fan-out.
    package static let maximumTokens = 500
    /// Source: "Sending broadcast push notification requests to APNs".
    package static let maximumBroadcast = 5120

    /// - Returns: the bytes, which are a JSON object with at least one key.
    @discardableResult
    static func payload(_ payload: ArraySlice<UInt8>) throws(DecodingFailure) -> ArraySlice<UInt8> {
        try checkPayload(JSONPart(payload, called: "payload"))
        return payload
    }

    static func checkPayload(_ part: JSONPart) throws(DecodingFailure) {
        guard part.kind == .object else {
            throw DecodingFailure("payload: expected a JSON object, found \(part.kind.name)")
        }
        guard !part.value.isEmptyObject(in: part.document) else {
            throw DecodingFailure("payload: expected at least one key, found none")
        }
    }

    /// Validates the fields and creates a request.
    ///
    /// Exactly one of device token, device tokens and channel is required. The push type is optional if the payload
    /// determines it. All other fields are optional.
    ///
    /// - Parameter payload: a validated JSON object, which is sent to APNs unchanged; `nil` if ``findings`` say that
    ///   there is none.
    /// - Throws: all errors, each with the name of the field.
    mutating func request(payload: ArraySlice<UInt8>?) throws(DecodingFailure) -> Request {
        let recipients = isTargetRefused ? nil : recipients()
        let isBroadcast = recipients?.isBroadcast ?? false
        if !isBroadcast, !self[.requestID].isMissing {
            remarks.add("apns-request-id: only for broadcasts and channel operations; use apns-id")
        }
        let type = pushType(payload, isBroadcast: isBroadcast)
        // Without a target, a Live Activity could be a broadcast, which may be larger.
        let sizeType = recipients == nil && type == .liveactivity ? nil : type
        if let payload { checkSize(of: payload, sizeType, isBroadcast: isBroadcast) }
        if isBroadcast { expectNone(.collapseID, beside: .channelID) }
        let topic = topic()
        let priority = priority(type, isBroadcast: isBroadcast)
        let expiration = time(.expiration)
        let collapseID = collapseID()
        let id = id(takesRequestID: isBroadcast)
        let environment = environment()
        let notBefore = time(.notBefore)
        guard findings.isEmpty, let payload, let recipients, let type else {
            if case .several(let tokens)? = recipients { addBadTokens(tokens) }
            throw failure
        }
        // Apple requires an expiration in every broadcast; every channel accepts 0.
        let content = Notification.Content(
            topic: topic, pushType: type, priority: priority, expiration: expiration ?? (isBroadcast ? 0 : nil),
            collapseID: collapseID, id: id, environment: environment, payload: payload)
        return request(recipients, content, notBefore: notBefore)
    }

    private mutating func addBadTokens(_ tokens: [ArraySlice<UInt8>]) {
        let bad = tokens.indices.filter { DeviceToken(hex: tokens[$0]) == nil }
        for position in bad.prefix(Request.maximumNamed) {
            findings.add(DecodingFailure("device-tokens[\(position)]: \(Self.badToken(tokens[position]))"))
        }
        if bad.count > Request.maximumNamed {
            findings.add(DecodingFailure("device-tokens: \(bad.count) are not valid"))
        }
    }

    // Mutating, because all fields would be copied for the call.
    private mutating func request(
        _ recipients: Recipients, _ content: Notification.Content, notBefore: Int64?
    ) -> Request {
        switch recipients {
        case .one(let target):
            return Request([Notification(target: target, content)], key: key, notBefore: notBefore, hint: remarks.text)
        case .several(let tokens):
            var notifications: [Notification] = []
            notifications.reserveCapacity(tokens.count)
            var refusals: [Request.Refusal] = []
            for (position, digits) in tokens.enumerated() {
                if let token = DeviceToken(hex: digits) {
                    notifications.append(Notification(target: .device(token), content))
                } else {
                    var failure = DecodingFailure(
                        "device-tokens[\(position)]: \(Self.badToken(digits))", limit: nil, known: known)
                    failure.known?.lacksTopic = content.topic == nil
                    refusals.append((position, failure))
                }
            }
            return Request(notifications, refusals: refusals, key: key, notBefore: notBefore, hint: remarks.text)
        }
    }

    /// - Parameter operation: `nil` if ``findings`` say that it is not valid.
    /// - Throws: also if a target is set.
    mutating func request(about operation: ChannelOperation?) throws(DecodingFailure) -> Request {
        for name in [Name.deviceToken, .channelID, .pushType, .priority, .collapseID] {
            expectNone(name, beside: .channel)
        }
        let topic = topic()
        let expiration = time(.expiration)
        let id = id(takesRequestID: true)
        let environment = environment()
        let notBefore = time(.notBefore)
        guard findings.isEmpty, let operation else {
            var failure = failure
            failure.known?.target = operation.map { .management($0) }
            failure.known?.id = id
            throw failure
        }
        let notification = Notification(
            operation, topic: topic, expiration: expiration, id: id, environment: environment)
        return Request([notification], key: key, notBefore: notBefore, hint: remarks.text)
    }

    // MARK: Failures

    /// The error for a message: all that is wrong, and what can be read nevertheless.
    private var failure: DecodingFailure {
        var known = known
        known.lacksTopic = self[.topic].isMissing && (known.environment != nil || self[.environment].isMissing)
        return DecodingFailure(
            (findings.details + [remarks.text].compactMap(\.self)).joined(separator: "; "), limit: findings.limit,
            known: known
        ).keyed(key)
    }

    /// What can be read of the request, although the request is invalid.
    var known: DecodingFailure.Known {
        var fields = self
        var known = DecodingFailure.Known()
        var isBroadcast = false
        if case .one(let target)? = fields.recipients() {
            known.target = target
            if case .channel = target { isBroadcast = true }
        }
        known.topic = fields.topic()
        known.environment = fields.environment()
        known.id = fields.id(takesRequestID: isBroadcast)
        return known
    }

    /// Adds a finding about a field and, where that differs, its place in the message.
    private mutating func fail<Result>(_ name: Name, _ complaint: String) -> Result? {
        findings.add(DecodingFailure("\(place(name)): \(complaint)"))
        return nil
    }

    private func place(_ name: Name) -> String {
        places[name].map { "\(name.text) (\($0))" } ?? name.text.description
    }

    /// Refuses a field that does not apply: the producer's mistake is reported instead of ignored.
    private mutating func expectNone(_ name: Name, beside other: Name) {
        if self[name].isMissing { return }
        findings.add(DecodingFailure("\(place(name)): expected none beside \(other.text)"))
    }

    /// The error for a value that is none of a list of names, with the nearest one.
    static func unknown(_ value: Value, among names: [String]) -> String {
        var hint = ""
        if case .text(let text) = value, text.count <= longestShown {
            let word = String(decoding: text, as: UTF8.self).lowercased()
            let meant = Environment.synonyms[word]?.rawValue ?? word
            hint = Suggestion.question(Suggestion.completion(of: meant, among: names)).map { "; \($0)" } ?? ""
        }
        let known = names.joined(separator: ", ")
        return value.isMissing ? "missing, expected one of \(known)" : "\(value.shown) is not one of \(known)\(hint)"
    }

    // MARK: Recipients

    private enum Recipients {
        case one(Notification.Target)
        /// Device tokens, not yet validated. An invalid one does not affect the others.
        case several([ArraySlice<UInt8>])

        var isBroadcast: Bool {
            if case .one(.channel) = self { true } else { false }
        }
    }

    private mutating func recipients() -> Recipients? {
        switch (self[.deviceToken], deviceTokens, self[.channelID]) {
        case (.missing, .none, .missing):
            findings.add(DecodingFailure("no target: \(missingTarget)"))
            return nil
        case (.text(let digits), .none, .missing):
            guard let token = DeviceToken(hex: digits) else { return fail(.deviceToken, Self.badToken(digits)) }
            return .one(.device(token))
        case (.missing, .some(let tokens), .missing):
            guard (1...Self.maximumTokens).contains(tokens.count) else {
                findings.add(Self.badCount(tokens.count))
                return nil
            }
            return .several(tokens)
        case (.missing, .none, .text(let id)) where ChannelOperation.isChannelID(id): return .one(.channel(id))
        case (.missing, .none, _):
            return fail(.channelID, "expected base64, at most \(ChannelOperation.maximumChannelID) characters")
        case (let other, .none, .missing):
            let hint = other.shown == "an array" ? "; device-tokens takes several, and digits stand for bytes" : ""
            // The digits may be those of a device token.
            let found =
                switch other {
                case .integer, .number: "a number"
                default: other.shown
                }
            return fail(.deviceToken, "expected a string of hexadecimal digits, found \(found)\(hint)")
        default:
            findings.add(
                DecodingFailure("device-token: expected only one of device-token, device-tokens and apns-channel-id"))
            return nil
        }
    }

    private var missingTarget: String {
        guard !places.isEmpty else { return "expected device-token, device-tokens or apns-channel-id" }
        let targets = Name.allCases.filter { $0.isTarget && places[$0] != nil }
        return "\(targets.map { place($0) }.joined(separator: ", ")) found nothing"
    }

    private static func badToken(_ digits: ArraySlice<UInt8>) -> String {
        "\(MistakenForms.prefix(ofToken: digits))expected an even number of hexadecimal digits, at most "
            + "\(DeviceToken.maximumDigits)"
    }

    static func badCount(_ count: Int) -> DecodingFailure {
        DecodingFailure(
            "device-tokens: \(count) tokens, expected 1 to \(maximumTokens)", limit: count > 0 ? .tokens : nil)
    }

    // MARK: Single fields

    private mutating func topic() -> ArraySlice<UInt8>? {
        switch self[.topic] {
        case .missing: return nil
        case .text(let text) where 1...255 ~= text.count && text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }): return text
        case let other: return fail(.topic, "expected 1 to 255 visible ASCII characters, found \(other.shown)")
        }
    }

    /// - Returns: `nil` also if it depends on a payload that is not valid.
    private mutating func pushType(_ payload: ArraySlice<UInt8>?, isBroadcast: Bool) -> PushType? {
        let value = self[.pushType]
        var type: PushType?
        switch value {
        case .missing where isBroadcast: return .liveactivity
        case .missing:
            guard let payload else { return nil }
            type = (try? PayloadContent(payload))?.pushType
            if type == nil {
                return fail(
                    .pushType,
                    "missing, and aps does not determine it: it has no event, alert, badge, sound or "
                        + "content-available 1; set it")
            }
        case .text(let name): type = PushType(name: name) ?? PushType(name: name.lowered[...])
        case .integer, .number, .boolean, .other: break
        }
        guard let type else {
            return fail(.pushType, Self.unknown(value, among: PushType.allCases.map(\.description)))
        }
        guard !isBroadcast || type == .liveactivity else {
            return fail(.pushType, "expected liveactivity for a broadcast, found \(type)")
        }
        return type
    }

    /// - Parameter type: `nil` if it is not known; none permits more than a broadcast.
    private mutating func checkSize(of payload: ArraySlice<UInt8>, _ type: PushType?, isBroadcast: Bool) {
        let type = isBroadcast ? nil : type
        let limit = type?.rules.maximumPayload ?? Self.maximumBroadcast
        guard payload.count > limit else { return }
        let subject = isBroadcast ? "a broadcast" : type?.description ?? "any push type"
        findings.add(
            DecodingFailure("payload: \(payload.count) bytes, expected at most \(limit) for \(subject)"))
    }

    /// Apple requires 5 for background notifications, and a priority in every broadcast.
    ///
    /// - Parameter type: `nil` if it is not known.
    private mutating func priority(_ type: PushType?, isBroadcast: Bool) -> Priority? {
        let value = self[.priority]
        if value.isMissing { return isBroadcast ? .immediate : type?.rules.defaultPriority }
        guard let priority = integer(value).flatMap({ UInt8(exactly: $0) }).flatMap(Priority.init(rawValue:)) else {
            return fail(.priority, "expected 1, 5 or 10, found \(value.shown)")
        }
        if let type, !type.rules.permits(priority) {
            return fail(.priority, "expected 5 for \(type), found \(priority.name)")
        }
        return priority
    }

    /// A time in seconds since 1970, or 0.
    // Inlined, as `id(_:)`: with a name that is not constant, all fields would be copied to read one.
    @inline(__always)
    private mutating func time(_ name: Name) -> Int64? {
        let value = self[name]
        if value.isMissing { return nil }
        let seconds = integer(value)
        if let seconds, seconds == 0 || MistakenForms.plausibleTimes.contains(seconds) { return seconds }
        return fail(name, MistakenForms.complaint(aboutTime: value, seconds))
    }

    private mutating func collapseID() -> ArraySlice<UInt8>? {
        switch self[.collapseID] {
        case .missing:
            return nil
        case .text(let text):
            guard !text.isEmpty, text.count <= Notification.maximumCollapseID else {
                return fail(.collapseID, "\(text.count) bytes, expected 1 to \(Notification.maximumCollapseID)")
            }
            // Source: RFC 9113, section 8.2.1: the invalid characters of a field value.
            guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), text.first != 0x20, text.last != 0x20 else {
                return fail(.collapseID, "expected no control characters, and no space around it")
            }
            return text
        case let other:
            return fail(.collapseID, "expected a string, found \(other.shown)")
        }
    }

    /// - Parameter takesRequestID: whether `apns-request-id` is an alias, as in requests about channels.
    private mutating func id(takesRequestID: Bool) -> NotificationID? {
        takesRequestID && self[.id].isMissing ? id(.requestID) : id(.id)
    }

    @inline(__always)
    private mutating func id(_ name: Name) -> NotificationID? {
        let value = self[name]
        if value.isMissing { return nil }
        if case .text(let text) = value, let id = NotificationID(text) { return id }
        return fail(name, "\(MistakenForms.prefix(ofID: value))expected a UUID as 8-4-4-4-12 hexadecimal digits")
    }

    private mutating func environment() -> Environment? {
        switch self[.environment] {
        case .missing: return nil
        case .text(let name) where name.equals("production"): return .production
        case .text(let name) where name.equals("development"): return .development
        case let other: return fail(.environment, Self.unknown(other, among: Environment.allCases.map(\.rawValue)))
        }
    }

    private func integer(_ value: Value) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .text(let digits) where takesDigits: JSONText.wholeNumber(digits)
        default: nil
        }
    }
}
