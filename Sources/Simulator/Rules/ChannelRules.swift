import Core

/// The operation of a channel management request.
package enum ScriptOperation: String, CaseIterable, Sendable {
    case create, read, delete, list

    /// - Returns: `nil` unless the target manages channels and supports the method.
    init?(_ target: RequestTarget, _ method: [UInt8]) {
        switch target {
        case .allChannels where method.equals("GET"): self = .list
        case .channels where method.equals("POST"): self = .create
        case .channels where method.equals("GET"): self = .read
        case .channels where method.equals("DELETE"): self = .delete
        default: return nil
        }
    }
}

/// The response to a channel management request.
struct SimulatedChannelResponse: Equatable {
    var response: SimulatedResponse
    /// `apns-channel-id` of a new channel.
    var channelID: [UInt8]?
    /// The JSON of a successful response.
    var body: [UInt8] = []
}

/// Create, read, delete and list channels.
///
/// Sources: "Sending channel management requests to APNs" and "Handling error responses from Apple Push Notification
/// service".
extension RequestRules {
    func manage(
        channelsOf bundleID: ArraySlice<UInt8>, _ fields: RequestFields, body: [UInt8], keyTopics: [[UInt8]] = [],
        _ registry: ChannelRegistry, random: inout some RandomNumberGenerator
    ) -> SimulatedChannelResponse {
        if let refusal = check(channelsOf: bundleID, fields, keyTopics) {
            return SimulatedChannelResponse(response: refusal)
        }
        let method = fields.method ?? []
        if method.equals("POST") { return create(bundleID, body, registry, random: &random) }

        if let refusal = Self.check(channelID: fields.channelID) { return SimulatedChannelResponse(response: refusal) }
        let channelID = fields.channelID ?? []
        if method.equals("DELETE") {
            let isRemoved = registry.remove(channelID, of: bundleID)
            return SimulatedChannelResponse(response: isRemoved ? SimulatedResponse(204) : Self.unknownChannel)
        }
        guard let policy = registry.policy(of: channelID[...], bundleID) else {
            return SimulatedChannelResponse(response: Self.unknownChannel)
        }
        let text = "{\"message-storage-policy\":\(policy.rawValue),\"push-type\":\"LiveActivity\"}"
        return SimulatedChannelResponse(response: .accepted, body: Array(text.utf8))
    }

    func list(
        channelsOf bundleID: ArraySlice<UInt8>, _ fields: RequestFields, keyTopics: [[UInt8]] = [],
        _ registry: ChannelRegistry
    ) -> SimulatedChannelResponse {
        if let refusal = check(channelsOf: bundleID, fields, keyTopics) {
            return SimulatedChannelResponse(response: refusal)
        }
        let names = registry.channels(of: bundleID).map { "\"\(String(decoding: $0, as: UTF8.self))\"" }
        return SimulatedChannelResponse(
            response: .accepted, body: Array("{\"channels\":[\(names.joined(separator: ","))]}".utf8))
    }

    /// The checks common to all four operations.
    private func check(
        channelsOf bundleID: ArraySlice<UInt8>, _ fields: RequestFields, _ keyTopics: [[UInt8]]
    ) -> SimulatedResponse? {
        guard Self.isCanonicalUUID(fields.requestID) else { return Self.badID("apns-request-id", fields.requestID) }
        return check(bundleID: bundleID, keyTopics)
    }

    private func create(
        _ bundleID: ArraySlice<UInt8>, _ body: [UInt8], _ registry: ChannelRegistry,
        random: inout some RandomNumberGenerator
    ) -> SimulatedChannelResponse {
        func failure(_ reason: String, _ cause: String) -> SimulatedChannelResponse {
            SimulatedChannelResponse(response: SimulatedResponse(400, reason, cause: cause))
        }
        guard !body.isEmpty else { return failure("PayloadEmpty", "there is no payload") }
        guard let object = JSONObject(body[...]) else {
            return failure("BadRequestPayload", "the payload is not a JSON object")
        }
        let other = object.members.first { !$0.key.equals("push-type") && !$0.key.equals("message-storage-policy") }
        if let other { return failure("BadRequestParams", "the payload has the member \(quoted(other.key))") }
        guard let pushType = object["push-type"] else { return failure("MissingPushType", "push-type is missing") }
        guard pushType.kind == .string, pushType.value.equals("LiveActivity") else {
            return failure("InvalidPushType", "push-type is \(quoted(pushType.value)), not LiveActivity")
        }
        guard let storage = object["message-storage-policy"] else {
            return failure("MissingChannelQueueSize", "message-storage-policy is missing")
        }
        guard let number = object.integer("message-storage-policy"),
            let policy = ChannelRegistry.StoragePolicy(rawValue: number)
        else { return failure("BadRequestParams", "message-storage-policy is \(quoted(storage.value)), not 0 or 1") }
        let channelID = Self.channelID(random: &random)
        guard registry.add(channelID, of: bundleID, policy) else {
            return failure("CannotCreateChannelConfig", "the app has as many channels as are allowed")
        }
        return SimulatedChannelResponse(response: SimulatedResponse(201), channelID: channelID)
    }

    /// Sixteen random bytes in base64.
    private static func channelID(random: inout some RandomNumberGenerator) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        // 21 characters encode 126 bits; the upper bits of the 22nd encode the last two.
        let head = (0..<21).map { _ in alphabet[Int.random(in: 0..<64, using: &random)] }
        return head + [alphabet[Int.random(in: 0..<4, using: &random) << 4]] + Array("==".utf8)
    }
}
