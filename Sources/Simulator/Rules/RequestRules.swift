import Core

/// The checks of a request except the credential.
///
/// The checks run in the order of this file; ``SimulatorEngine`` checks the provider token after ``open(_:)``. The
/// order is: method, path, repeated headers; provider token; `apns-id`, device token, push type, topic, expiration,
/// priority, collapse id; payload. Apple documents the rules but not their order, so the real APNs may report another
/// reason for a request that violates two of them.
///
/// Sources: "Sending notification requests to APNs", "Handling notification responses from APNs", otherwise the APNs
/// Provider API of 2016.
package struct RequestRules: Sendable {
    /// Bytes. Source: "Sending notification requests to APNs", `apns-collapse-id`.
    static let maximumCollapseID = 64

    let configuration: SimulatorConfiguration
    private var topics: [[UInt8]]
    private let allowsAllTopics: Bool

    package init(_ configuration: SimulatorConfiguration) {
        self.configuration = configuration
        topics = configuration.topics.map { Array($0.utf8) }
        allowsAllTopics = configuration.topics.isEmpty && configuration.laterTopics.isEmpty
    }

    /// Registers a bundle ID.
    mutating func allow(topic bundleID: String) {
        topics.append(Array(bundleID.utf8))
    }

    package enum Opening: Equatable, Sendable {
        case target(RequestTarget)
        case refused(SimulatedResponse)
    }

    /// Checks method, path and repeated headers.
    package func open(_ fields: RequestFields) -> Opening {
        let method = fields.method ?? []
        let path = fields.path ?? []
        let isManagement = path[...].hasPrefix("/1/")
        func notAllowed(_ methods: String) -> Opening {
            .refused(
                SimulatedResponse(405, "MethodNotAllowed", cause: "the method is \(quoted(method)), not \(methods)"))
        }
        guard method.equals("POST") || isManagement else { return notAllowed("POST") }
        guard let target = RequestTarget(path: path) else {
            return .refused(
                SimulatedResponse(
                    404, "BadPath",
                    cause: "the path is none of /3/device/TOKEN, /4/broadcasts/apps/BUNDLEID, "
                        + "/1/apps/BUNDLEID/channels and /1/apps/BUNDLEID/all-channels"))
        }
        switch target {
        case .channels:
            guard method.equals("POST") || method.equals("GET") || method.equals("DELETE") else {
                return notAllowed("POST, GET or DELETE")
            }
        case .allChannels:
            guard method.equals("GET") else { return notAllowed("GET") }
        case .device(let token):
            guard !token.isEmpty else {
                return .refused(SimulatedResponse(400, "MissingDeviceToken", cause: "the path has no device token"))
            }
        case .broadcast: break
        }
        if let duplicate = fields.duplicate {
            return .refused(SimulatedResponse(400, "DuplicateHeaders", cause: "\(quoted(duplicate)) is repeated"))
        }
        return .target(target)
    }

    /// Checks the headers and the payload of a notification to a device.
    ///
    /// - Parameters:
    ///   - certificate: of the client; `nil` with provider tokens.
    ///   - keyTopics: the bundle IDs of the provider token's key; empty for all.
    /// - Returns: `nil` if the request is valid.
    package func check(
        device token: ArraySlice<UInt8>, _ fields: RequestFields, body: [UInt8],
        certificate: ClientCertificate? = nil, keyTopics: [[UInt8]] = []
    ) -> SimulatedResponse? {
        guard Self.isCanonicalUUID(fields.id) else { return Self.badID("apns-id", fields.id) }
        guard token.count % 2 == 0, token.isHexadecimal else {
            return SimulatedResponse(
                400, "BadDeviceToken", cause: "the device token is not an even number of hexadecimal digits")
        }

        let stated: PushTypeRule?
        if let name = fields.pushType {
            guard let rule = PushTypeRule.named(name) else {
                return SimulatedResponse(
                    400, "InvalidPushType", cause: "apns-push-type is \(quoted(name)), not one of Apple's")
            }
            stated = rule
        } else {
            stated = nil
        }
        guard let topic = topic(fields, certificate) else {
            return SimulatedResponse(400, "MissingTopic", cause: "apns-topic is missing")
        }
        let suffixed = isListed(topic, keyTopics) ? nil : PushTypeRule.suffixed(topic)
        let rule = stated ?? suffixed ?? .unstated
        if let response = check(topic: topic, rule, certificate, keyTopics) { return response }

        if let expiration = fields.expiration, Self.seconds(expiration) == nil {
            return SimulatedResponse(
                400, "BadExpirationDate", cause: "apns-expiration is \(quoted(expiration)), not seconds since 1970")
        }
        if let priority = fields.priority, !rule.permits(priority: priority) {
            return Self.badPriority(priority, rule)
        }
        if let collapseID = fields.collapseID, collapseID.count > Self.maximumCollapseID {
            return SimulatedResponse(
                400, "BadCollapseId",
                cause: "apns-collapse-id has \(collapseID.count) bytes; at most \(Self.maximumCollapseID) are allowed")
        }
        return check(payload: body, rule, isPriority10: stated == nil && fields.priority?.equals("10") == true)
    }

    private func topic(_ fields: RequestFields, _ certificate: ClientCertificate?) -> ArraySlice<UInt8>? {
        if let topic = fields.topic, !topic.isEmpty { return topic[...] }
        return certificate?.defaultTopic
    }

    private func check(
        topic: ArraySlice<UInt8>, _ rule: PushTypeRule, _ certificate: ClientCertificate?, _ keyTopics: [[UInt8]]
    ) -> SimulatedResponse? {
        func bad(_ cause: String) -> SimulatedResponse {
            SimulatedResponse(400, "BadTopic", cause: "apns-topic is \(quoted(topic))\(cause)")
        }
        guard topic.isBundleID else { return bad(", which is not a bundle ID") }
        guard topic.hasPrefix(rule.prefix) else { return bad("; a topic of \(rule.name) begins with \(rule.prefix)") }
        let bundleID: ArraySlice<UInt8>
        if rule.suffix.utf8CodeUnitCount == 0 {
            guard !endsAsSuffix(topic, keyTopics) else {
                return bad(", which has the suffix of another push type than \(quoted(rule.name))")
            }
            bundleID = topic
        } else {
            guard topic.hasSuffix(rule.suffix) else { return bad("; a topic of \(rule.name) ends with \(rule.suffix)") }
            bundleID = topic.dropLast(rule.suffix.utf8CodeUnitCount)
        }
        if let certificate, !certificate.allows(topic, rule) {
            return SimulatedResponse(
                400, "TopicDisallowed",
                cause: "the client's certificate does not allow \(quoted(topic)) with push type \(quoted(rule.name))")
        }
        guard isAllowed(bundleID, keyTopics) else {
            return SimulatedResponse(400, "TopicDisallowed", cause: Self.unknown(bundleID))
        }
        return nil
    }

    /// Whether a topic must have the suffix of a push type. A bundle ID may end like a suffix, which is only known for
    /// listed ones.
    func endsAsSuffix(_ topic: ArraySlice<UInt8>, _ keyTopics: [[UInt8]] = []) -> Bool {
        PushTypeRule.suffixed(topic) != nil && !isListed(topic, keyTopics)
    }

    private func isListed(_ bundleID: ArraySlice<UInt8>, _ keyTopics: [[UInt8]]) -> Bool {
        topics.contains { $0.elementsEqual(bundleID) } || keyTopics.contains { $0.elementsEqual(bundleID) }
    }

    /// Whether both the service and the provider token's key accept a bundle ID.
    func isAllowed(_ bundleID: ArraySlice<UInt8>, _ keyTopics: [[UInt8]]) -> Bool {
        (allowsAllTopics || topics.contains { $0.elementsEqual(bundleID) })
            && (keyTopics.isEmpty || keyTopics.contains { $0.elementsEqual(bundleID) })
    }

    private func check(payload: [UInt8], _ rule: PushTypeRule, isPriority10: Bool) -> SimulatedResponse? {
        if let response = Self.check(size: payload, rule.maximumPayload) { return response }
        guard configuration.checksPayload else { return nil }
        // Apple documents no reason for a body that is not a JSON object; `PayloadEmpty` is the nearest.
        guard let object = JSONObject(payload[...]) else {
            return SimulatedResponse(400, "PayloadEmpty", cause: "the payload is not a JSON object")
        }
        guard rule.needsAps else { return nil }
        guard let aps = object["aps"], aps.kind == .object else { return Self.noAps }
        // "It is an error to use this priority for a push notification that contains only the content-available key."
        if isPriority10, let members = JSONObject(aps.value)?.members, members.count == 1,
            members[0].key.equals("content-available")
        {
            return SimulatedResponse(
                400, "BadPriority", cause: "apns-priority is 10, and aps has nothing but content-available")
        }
        return nil
    }

    static func check(size payload: [UInt8], _ limit: Int) -> SimulatedResponse? {
        guard !payload.isEmpty else { return SimulatedResponse(400, "PayloadEmpty", cause: "there is no payload") }
        guard payload.count <= limit else {
            return SimulatedResponse(
                413, "PayloadTooLarge", cause: "the payload has \(payload.count) bytes; at most \(limit) are allowed")
        }
        return nil
    }

    static let noAps = SimulatedResponse(400, "PayloadEmpty", cause: "the payload has no aps dictionary")

    static func badID(_ header: StaticString, _ value: [UInt8]?) -> SimulatedResponse {
        SimulatedResponse(400, "BadMessageId", cause: "\(header) is \(quoted(value ?? [])), not a UUID in lower case")
    }

    static func badPriority(_ priority: [UInt8]?, _ rule: PushTypeRule) -> SimulatedResponse {
        let allowed = rule.priorities.map(\.description).joined(separator: ", ")
        return SimulatedResponse(
            400, "BadPriority",
            cause: priority.map { "apns-priority is \(quoted($0)); allowed: \(allowed)" } ?? "apns-priority is missing")
    }

    static func unknown(_ bundleID: ArraySlice<UInt8>) -> String {
        "the bundle ID \(quoted(bundleID)) is not registered, or the key is not for it"
    }

    /// A missing ID is valid: APNs creates one.
    static func isCanonicalUUID(_ id: [UInt8]?) -> Bool {
        guard let id else { return true }
        guard NotificationID(id[...]) != nil else { return false }
        return id.allSatisfy { !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// Seconds since 1970 UTC; `nil` unless `value` consists of digits. Past times are valid: the device decides.
    static func seconds(_ value: [UInt8]) -> Int64? {
        guard !value.isEmpty, value.count < 19 else { return nil }
        var result: Int64 = 0
        for byte in value {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            result = result * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return result
    }
}

/// A value of a request for the log, at most 100 bytes.
func quoted(_ value: some Collection<UInt8>) -> String {
    "\"\(String(decoding: value.prefix(100), as: UTF8.self))\(value.count > 100 ? "…" : "")\""
}

func quoted(_ name: StaticString) -> String {
    "\"\(name)\""
}
