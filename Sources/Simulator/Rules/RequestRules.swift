import Core
import Decoding
import TLS

/// The checks of a request except the credential.
///
/// The checks run in the order of this file; ``SimulatorEngine`` checks the provider token after ``RequestTarget``. The
/// order is: method, path, repeated headers; provider token; `apns-id`, device token, push type, topic, expiration,
/// priority, collapse id; payload. Apple documents the rules but not their order, so the real APNs may report another
/// reason for a request that violates two of them.
///
/// Sources: "Sending notification requests to APNs", "Handling notification responses from APNs", otherwise the APNs
/// Provider API of 2016.
package struct RequestRules: Sendable {
    /// Bytes. Source: "Sending notification requests to APNs", `apns-collapse-id`.
    static let maximumCollapseID = 64

    /// The bundle IDs that were known when the connection was bound; `nil` for all.
    var topics: [[UInt8]]?
    /// Of the client; `nil` with provider tokens.
    var certificate: Certificate?
    /// The bundle IDs of the provider token's key; empty for all.
    var keyTopics: [[UInt8]] = []

    /// Checks the headers and the payload of a notification to a device.
    func check(
        device token: ArraySlice<UInt8>, _ fields: RequestHeaders, body: [UInt8]
    ) throws(SimulatedResponse) {
        try Self.check("apns-id", fields.id)
        guard token.count % 2 == 0, token.allSatisfy({ $0.hexDigit != nil }) else {
            throw SimulatedResponse(
                400, "BadDeviceToken", "the device token is not an even number of hexadecimal digits")
        }
        let stated = fields.pushType.flatMap { PushTypeRule.named($0) }
        if let name = fields.pushType, stated == nil {
            throw SimulatedResponse(
                400, "InvalidPushType", "apns-push-type is \(quoted(name)), not one of Apple's")
        }
        guard let topic = fields.topic.flatMap({ $0.isEmpty ? nil : $0[...] }) ?? certificate?.defaultTopic else {
            throw SimulatedResponse(400, "MissingTopic", "apns-topic is missing")
        }
        let rule = stated ?? suffixed(topic) ?? .unstated
        try check(topic: topic, rule)
        if let expiration = fields.expiration { _ = try Self.seconds(expiration) }
        if let priority = fields.priority { try Self.check(priority: priority, rule) }
        if let collapseID = fields.collapseID, collapseID.count > Self.maximumCollapseID {
            throw SimulatedResponse(
                400, "BadCollapseId",
                "apns-collapse-id has \(collapseID.count) bytes; at most \(Self.maximumCollapseID) are allowed")
        }
        try check(payload: body, rule, isPriority10: stated == nil && fields.priority?.equals("10") == true)
    }

    private func check(topic: ArraySlice<UInt8>, _ rule: PushTypeRule) throws(SimulatedResponse) {
        func bad(_ cause: String) -> SimulatedResponse {
            SimulatedResponse(400, "BadTopic", "apns-topic is \(quoted(topic))\(cause)")
        }
        guard topic.isBundleID else { throw bad(", which is not a bundle ID") }
        guard topic.hasPrefix(rule.prefix) else { throw bad("; a topic of \(rule.name) begins with \(rule.prefix)") }
        guard topic.hasSuffix(rule.suffix) else { throw bad("; a topic of \(rule.name) ends with \(rule.suffix)") }
        guard rule.suffix.utf8CodeUnitCount > 0 || suffixed(topic) == nil else {
            throw bad(", which has the suffix of another push type than \"\(rule.name)\"")
        }
        if let certificate, !certificate.allows(topic, rule) {
            throw SimulatedResponse(
                400, "TopicDisallowed",
                "the client's certificate does not allow \(quoted(topic)) with push type \"\(rule.name)\"")
        }
        let bundleID = topic.dropLast(rule.suffix.utf8CodeUnitCount)
        guard isAllowed(bundleID, keyTopics) else {
            throw SimulatedResponse(400, "TopicDisallowed", Self.unknown(bundleID))
        }
    }

    /// The push type whose suffix ends a topic. A bundle ID may end like a suffix, which is only known for listed ones.
    private func suffixed(_ topic: ArraySlice<UInt8>) -> PushTypeRule? {
        let isListed = ((topics ?? []) + keyTopics).contains { $0.elementsEqual(topic) }
        return isListed ? nil : PushTypeRule.suffixed(topic)
    }

    /// Whether both the service and the provider token's key accept a bundle ID.
    func isAllowed(_ bundleID: ArraySlice<UInt8>, _ keyTopics: [[UInt8]]) -> Bool {
        (topics?.contains { $0.elementsEqual(bundleID) } ?? true)
            && (keyTopics.isEmpty || keyTopics.contains { $0.elementsEqual(bundleID) })
    }

    private func check(payload: [UInt8], _ rule: PushTypeRule, isPriority10: Bool) throws(SimulatedResponse) {
        try Self.check(size: payload, rule.maximumPayload)
        // Apple documents no reason for a body that is not a JSON object; `PayloadEmpty` is the nearest.
        guard let object = Self.object(payload) else {
            throw SimulatedResponse(400, "PayloadEmpty", "the payload is not a JSON object")
        }
        guard rule.needsAps else { return }
        guard let aps = object["aps"], aps.kind == .object else { throw Self.noAps }
        // "It is an error to use this priority for a push notification that contains only the content-available key."
        let keys = isPriority10 ? aps.members.map(\.key) : []
        guard keys.count != 1 || !keys[0].equals("content-available") else {
            throw SimulatedResponse(
                400, "BadPriority", "apns-priority is 10, and aps has nothing but content-available")
        }
    }

    /// - Returns: `nil` unless `text` is one JSON object.
    static func object(_ text: [UInt8]) -> JSONPart? {
        guard let part = try? JSONPart(text[...]), part.kind == .object else { return nil }
        return part
    }

    static func check(size payload: [UInt8], _ limit: Int) throws(SimulatedResponse) {
        guard !payload.isEmpty else { throw SimulatedResponse(400, "PayloadEmpty", "there is no payload") }
        guard payload.count <= limit else {
            throw SimulatedResponse(
                413, "PayloadTooLarge", "the payload has \(payload.count) bytes; at most \(limit) are allowed")
        }
    }

    static func required<Value>(_ value: Value?, _ reason: String, _ name: String) throws(SimulatedResponse) -> Value {
        guard let value else { throw SimulatedResponse(400, reason, "\(name) is missing") }
        return value
    }

    static let noAps = SimulatedResponse(400, "PayloadEmpty", "the payload has no aps dictionary")

    /// Checks `apns-id`, whose letters are lower-case, or `apns-request-id`, which Apple's samples write in upper case.
    static func check(_ header: StaticString, _ id: [UInt8]?, anyCase: Bool = false) throws(SimulatedResponse) {
        guard let id else { return }
        if NotificationID(id[...]) != nil, anyCase || !id.contains(where: { 0x41...0x5A ~= $0 }) { return }
        throw SimulatedResponse(
            400, "BadMessageId", "\(header) is \(quoted(id)), not a UUID\(anyCase ? "" : " in lower case")")
    }

    static func check(priority: [UInt8], _ rule: PushTypeRule) throws(SimulatedResponse) {
        guard !rule.priorities.contains(where: { priority.equals($0) }) else { return }
        let allowed = rule.priorities.map(\.description).joined(separator: ", ")
        throw SimulatedResponse(400, "BadPriority", "apns-priority is \(quoted(priority)); allowed: \(allowed)")
    }

    static func unknown(_ bundleID: ArraySlice<UInt8>) -> String {
        "the bundle ID \(quoted(bundleID)) is not registered, or the key is not for it"
    }

    /// `apns-expiration`, in seconds since 1970 UTC. Past times are valid: the device decides.
    static func seconds(_ value: [UInt8]) throws(SimulatedResponse) -> Int64 {
        guard value.count < 19, let seconds = JSONText.integer(value[...]), value[0] != UInt8(ascii: "-") else {
            throw SimulatedResponse(
                400, "BadExpirationDate", "apns-expiration is \(quoted(value)), not seconds since 1970")
        }
        return seconds
    }
}

/// A value of a request for the log, at most 100 bytes.
func quoted(_ value: some Collection<UInt8>) -> String {
    "\"\(String(decoding: value.prefix(100), as: UTF8.self))\(value.count > 100 ? "…" : "")\""
}
