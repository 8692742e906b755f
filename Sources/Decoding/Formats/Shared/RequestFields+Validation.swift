import Core

extension RequestFields {
    /// The maximum number of device tokens in a fan-out.
    package static let maximumTokens = 500
    /// Source: "Sending broadcast push notification requests to APNs".
    package static let maximumBroadcast = 5120

    /// - Returns: the bytes, which are a JSON object with at least one key.
    @discardableResult
    static func payload(_ payload: ArraySlice<UInt8>) throws(DecodingFailure) -> ArraySlice<UInt8> {
        let value: JSONValue
        do throws(JSONFailure) {
            var scanner = JSONScanner()
            value = try scanner.value(payload.span, depth: 0)
            try scanner.end(payload.span)
        } catch {
            throw DecodingFailure(error, of: payload, in: "payload")
        }
        try checkPayload(value, in: payload)
        return payload
    }

    /// - Parameter value: what the scanner found in `body`.
    static func checkPayload(_ value: JSONValue, in body: ArraySlice<UInt8>) throws(DecodingFailure) {
        guard value.kind == .object else {
            throw DecodingFailure("payload: expected a JSON object, found \(value.kind.name)")
        }
        guard !value.isEmptyObject(in: body) else {
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
    func request(payload: ArraySlice<UInt8>?) throws(DecodingFailure) -> Request {
        guard findings.isEmpty, let payload else { throw explained(payload) }
        do throws(DecodingFailure) {
            var request = try validated(payload)
            if !nearMisses.isEmpty { request.hint = nearMisses.joined(separator: "; ") }
            return request
        } catch {
            throw explained(payload)
        }
    }

    private func validated(_ payload: ArraySlice<UInt8>) throws(DecodingFailure) -> Request {
        let recipients = try parseRecipients()
        let isBroadcast = recipients.isBroadcast
        let type = try parsePushType(payload, isBroadcast: isBroadcast)
        try checkSize(of: payload, type, isBroadcast: isBroadcast)
        if isBroadcast { try expectNone(collapseID, .collapseID, beside: .channelID) }
        // Apple requires an expiration in every broadcast; every channel accepts 0.
        let content = Notification.Content(
            topic: try parseTopic(), pushType: type, priority: try parsePriority(type, isBroadcast: isBroadcast),
            expiration: try parseTime(expiration, .expiration) ?? (isBroadcast ? 0 : nil),
            collapseID: try parseCollapseID(),
            id: try parseID(takesRequestID: isBroadcast), environment: try parseEnvironment(), payload: payload)
        let notBefore = try parseTime(notBefore, .notBefore)
        switch recipients {
        case .one(let target): return Request([Notification(target: target, content)], notBefore: notBefore)
        case .several(let tokens):
            var notifications: [Notification] = []
            notifications.reserveCapacity(tokens.count)
            var refusals: [Request.Refusal] = []
            for (position, digits) in tokens.enumerated() {
                if let token = DeviceToken(hex: digits) {
                    notifications.append(Notification(target: .device(token), content))
                } else {
                    var failure = badToken("device-tokens[\(position)]", digits)
                    failure.known = known
                    refusals.append(Request.Refusal(position: position, failure, id: content.id))
                }
            }
            return Request(notifications, refusals: refusals, notBefore: notBefore)
        }
    }

    /// - Throws: if a target is set as well.
    func request(about operation: ChannelOperation) throws(DecodingFailure) -> Request {
        do throws(DecodingFailure) {
            try expectNone(deviceToken, .deviceToken, beside: .channel)
            try expectNone(channelID, .channelID, beside: .channel)
            try expectNone(pushType, .pushType, beside: .channel)
            try expectNone(priority, .priority, beside: .channel)
            try expectNone(collapseID, .collapseID, beside: .channel)
            let notification = Notification(
                operation, topic: try parseTopic(), expiration: try parseTime(expiration, .expiration),
                id: try parseID(takesRequestID: true), environment: try parseEnvironment())
            var request = Request([notification], notBefore: try parseTime(notBefore, .notBefore))
            if !nearMisses.isEmpty { request.hint = nearMisses.joined(separator: "; ") }
            return request
        } catch {
            var failure = error
            failure.known = known
            failure.known?.target = .management(operation)
            throw failure
        }
    }

    // MARK: Recipients

    enum Recipients {
        case one(Notification.Target)
        /// Device tokens, not yet validated. An invalid one does not affect the others.
        case several([ArraySlice<UInt8>])

        var isBroadcast: Bool {
            if case .one(.channel) = self { true } else { false }
        }
    }

    func parseRecipients() throws(DecodingFailure) -> Recipients {
        switch (deviceToken, deviceTokens, channelID) {
        case (.missing, .none, .missing): throw noTarget
        case (.text(let digits), .none, .missing):
            guard let token = DeviceToken(hex: digits) else { throw badToken(place(.deviceToken), digits) }
            return .one(.device(token))
        case (.missing, .some(let tokens), .missing):
            guard (1...Self.maximumTokens).contains(tokens.count) else {
                throw Self.badCount(tokens.count)
            }
            return .several(tokens)
        case (.missing, .none, .text(let id)):
            guard ChannelOperation.isChannelID(id) else { throw badChannelID }
            return .one(.channel(id))
        case (.missing, .none, _):
            throw badChannelID
        case (let other, .none, .missing):
            throw failure(.deviceToken, "expected a string of hexadecimal digits, found \(other.shown)")
        default:
            throw DecodingFailure(
                "device-token: expected only one of device-token, device-tokens and apns-channel-id")
        }
    }

    var noTarget: DecodingFailure {
        guard let sources else {
            return DecodingFailure("no target: expected device-token, device-tokens or apns-channel-id")
        }
        let places = Name.allCases.filter { $0.isTarget && sources.description(of: $0) != nil }.map { place($0) }
        return DecodingFailure("no target: \(places.joined(separator: ", ")) found nothing")
    }

    func badToken(_ place: String, _ digits: ArraySlice<UInt8>) -> DecodingFailure {
        let limit = DeviceToken.maximumDigits
        let form = Self.form(ofToken: digits).map { "\($0); " } ?? ""
        return DecodingFailure("\(place): \(form)expected an even number of hexadecimal digits, at most \(limit)")
    }

    static func badCount(_ count: Int) -> DecodingFailure {
        DecodingFailure(
            "device-tokens: \(count) tokens, expected 1 to \(maximumTokens)", limit: count > 0 ? .tokens : nil)
    }

    var badChannelID: DecodingFailure {
        failure(.channelID, "expected base64, at most \(ChannelOperation.maximumChannelID) characters")
    }

    // MARK: Single fields

    func parseTopic() throws(DecodingFailure) -> ArraySlice<UInt8>? {
        switch topic {
        case .missing: return nil
        case .text(let text) where !text.isEmpty && text.count <= 255 && text.allSatisfy(Self.isVisible): return text
        default: throw failure(.topic, "expected 1 to 255 visible ASCII characters, found \(topic.shown)")
        }
    }

    func parsePushType(_ payload: ArraySlice<UInt8>, isBroadcast: Bool) throws(DecodingFailure) -> PushType {
        let type: PushType
        switch pushType {
        case .missing where isBroadcast: return .liveactivity
        case .missing:
            let content: PayloadContent
            do throws(JSONFailure) {
                content = try PayloadContent(payload)
            } catch {
                throw DecodingFailure(error, of: payload, in: "payload")
            }
            guard let resolved = content.pushType else {
                throw failure(
                    .pushType,
                    "missing, and aps does not determine it: it has no event, alert, badge, sound or "
                        + "content-available 1; set it")
            }
            type = resolved
        case .text(let name):
            guard let known = PushType(name: name) ?? PushType(name: name.lowered[...]) else { throw badPushType }
            type = known
        default: throw badPushType
        }
        if isBroadcast, type != .liveactivity {
            throw failure(.pushType, "expected liveactivity for a broadcast, found \(type)")
        }
        return type
    }

    var badPushType: DecodingFailure {
        unknown(pushType, .pushType, among: PushType.allCases.map(\.description))
    }

    /// The failure for a value that is none of a list of names, with the nearest one.
    func unknown(_ value: Value, _ name: Name, among names: [String]) -> DecodingFailure {
        var hint = ""
        if case .text(let text) = value, text.count <= Self.longestShown {
            let word = String(decoding: text, as: UTF8.self).lowercased()
            let meant = Environment.synonyms[word]?.rawValue ?? word
            if let name = Suggestion.completion(of: meant, among: names) { hint = "; did you mean \"\(name)\"?" }
        }
        return failure(name, "\(value.shown) is not one of \(names.joined(separator: ", "))\(hint)")
    }

    func checkSize(
        of payload: ArraySlice<UInt8>, _ type: PushType, isBroadcast: Bool
    ) throws(DecodingFailure) {
        let limit = isBroadcast ? Self.maximumBroadcast : type.maximumPayload
        guard payload.count > limit else { return }
        let subject = isBroadcast ? "a broadcast" : "\(type)"
        throw failure(.payload, "\(payload.count) bytes, expected at most \(limit) for \(subject)")
    }

    /// Apple requires 5 for background notifications, and a priority in every broadcast.
    func parsePriority(_ type: PushType, isBroadcast: Bool) throws(DecodingFailure) -> Priority? {
        if case .missing = priority {
            return isBroadcast ? .immediate : type.rules.defaultPriority
        }
        guard let number = integer(priority), let value = UInt8(exactly: number), let known = Priority(rawValue: value)
        else {
            throw failure(.priority, "expected 1, 5 or 10, found \(priority.shown)")
        }
        guard type.rules.permits(known) else {
            throw failure(.priority, "expected 5 for \(type), found \(known.name)")
        }
        return known
    }

    /// The end of the year 2001 in seconds, and that of 5138: what is less looks like a duration, what is more like
    /// milliseconds.
    private static let plausibleTimes: ClosedRange<Int64> = 1_000_000_000...99_999_999_999

    /// A time in seconds since 1970, or 0.
    func parseTime(_ value: Value, _ name: Name) throws(DecodingFailure) -> Int64? {
        if case .missing = value { return nil }
        let expectation = "expected seconds since 1970 (UTC) as an integer"
        guard let seconds = integer(value), seconds >= 0 else {
            var form = "found \(value.shown)"
            if case .text(let text) = value {
                if WallTime(rfc3339: text) != nil { form = "found a date in ISO 8601" }
                if JSONText.wholeNumber(text) != nil { form = "found \(value.shown), a string" }
            }
            throw failure(name, "\(expectation), \(form)")
        }
        guard seconds > 0 else { return 0 }
        guard seconds <= Self.plausibleTimes.upperBound else {
            throw failure(name, "\(seconds) looks like milliseconds; \(expectation), such as \(seconds / 1000)")
        }
        guard seconds >= Self.plausibleTimes.lowerBound else {
            throw failure(name, "\(seconds) looks like a duration; \(expectation): add it to the time of publishing")
        }
        return seconds
    }

    func parseCollapseID() throws(DecodingFailure) -> ArraySlice<UInt8>? {
        switch collapseID {
        case .missing:
            return nil
        case .text(let text):
            guard !text.isEmpty, text.count <= Notification.maximumCollapseID else {
                throw failure(.collapseID, "\(text.count) bytes, expected 1 to \(Notification.maximumCollapseID)")
            }
            // Source: RFC 9113, section 8.2.1: the invalid characters of a field value.
            guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), text.first != 0x20, text.last != 0x20 else {
                throw failure(.collapseID, "expected no control characters, and no space around it")
            }
            return text
        default:
            throw failure(.collapseID, "expected a string, found \(collapseID.shown)")
        }
    }

    /// - Parameter takesRequestID: whether `apns-request-id` is an alias, as in requests about channels.
    func parseID(takesRequestID: Bool) throws(DecodingFailure) -> NotificationID? {
        var (value, name) = (id, Name.id)
        if takesRequestID, case .missing = id { (value, name) = (requestID, .requestID) }
        switch value {
        case .missing: return nil
        case .text(let text):
            if let id = NotificationID(text) { return id }
        default: break
        }
        throw failure(name, "expected a UUID as 8-4-4-4-12 hexadecimal digits")
    }

    func parseEnvironment() throws(DecodingFailure) -> Environment? {
        switch environment {
        case .missing: return nil
        case .text(let name) where name.equals("production"): return .production
        case .text(let name) where name.equals("development"): return .development
        default: throw unknown(environment, .environment, among: Environment.allCases.map(\.rawValue))
        }
    }

    func integer(_ value: Value) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .text(let digits) where takesDigits: JSONText.wholeNumber(digits)
        default: nil
        }
    }

    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F
    }
}
