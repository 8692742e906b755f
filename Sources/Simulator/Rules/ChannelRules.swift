import Core

/// What a request about channels asks for.
package enum ScriptOperation: String, CaseIterable, Sendable {
    case create, read, delete, list

    /// - Returns: `nil` unless the target is about channels and has that method.
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

/// What a channel management request brings.
struct ChannelAnswer: Equatable {
    var answer: Answer
    /// `apns-channel-id`, of a channel that was created.
    var channelID: [UInt8]?
    /// The JSON of a success that has one.
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
    ) -> ChannelAnswer {
        func failure(_ status: UInt16, _ reason: String) -> ChannelAnswer {
            ChannelAnswer(answer: Answer(status, reason))
        }
        if let refusal = check(channelsOf: bundleID, fields, keyTopics) { return ChannelAnswer(answer: refusal) }
        let method = fields.method ?? []
        if method.equals("POST") { return create(bundleID, body, registry, random: &random) }

        guard let channelID = fields.channelID, !channelID.isEmpty else { return failure(400, "MissingChannelId") }
        guard Self.isBase64(channelID) else { return failure(400, "BadChannelId") }
        if method.equals("DELETE") {
            guard registry.remove(channelID, of: bundleID) else { return failure(400, "ChannelNotRegistered") }
            return ChannelAnswer(answer: Answer(204))
        }
        guard let policy = registry.policy(of: channelID[...], bundleID) else {
            return failure(400, "ChannelNotRegistered")
        }
        let text = "{\"message-storage-policy\":\(policy.rawValue),\"push-type\":\"LiveActivity\"}"
        return ChannelAnswer(answer: .accepted, body: Array(text.utf8))
    }

    func list(
        channelsOf bundleID: ArraySlice<UInt8>, _ fields: RequestFields, keyTopics: [[UInt8]] = [],
        _ registry: ChannelRegistry
    ) -> ChannelAnswer {
        if let refusal = check(channelsOf: bundleID, fields, keyTopics) { return ChannelAnswer(answer: refusal) }
        let names = registry.channels(of: bundleID).map { "\"\(String(decoding: $0, as: UTF8.self))\"" }
        return ChannelAnswer(answer: .accepted, body: Array("{\"channels\":[\(names.joined(separator: ","))]}".utf8))
    }

    /// What all four operations have in common.
    private func check(
        channelsOf bundleID: ArraySlice<UInt8>, _ fields: RequestFields, _ keyTopics: [[UInt8]]
    ) -> Answer? {
        guard Self.isCanonicalUUID(fields.requestID) else { return Answer(400, "BadMessageId") }
        guard !endsAsSuffix(bundleID) else { return Answer(400, "TopicDisallowed") }
        return isAllowed(bundleID, keyTopics) ? nil : Answer(403, "TopicMismatch")
    }

    private func create(
        _ bundleID: ArraySlice<UInt8>, _ body: [UInt8], _ registry: ChannelRegistry,
        random: inout some RandomNumberGenerator
    ) -> ChannelAnswer {
        func failure(_ reason: String) -> ChannelAnswer { ChannelAnswer(answer: Answer(400, reason)) }
        guard !body.isEmpty else { return failure("PayloadEmpty") }
        guard let object = JSONObject(body[...]) else { return failure("BadRequestPayload") }
        let known = object.members.allSatisfy { $0.key.equals("push-type") || $0.key.equals("message-storage-policy") }
        guard known else { return failure("BadRequestParams") }
        guard let pushType = object["push-type"] else { return failure("MissingPushType") }
        guard pushType.kind == .string, pushType.value.equals("LiveActivity") else { return failure("InvalidPushType") }
        guard object["message-storage-policy"] != nil else { return failure("MissingChannelQueueSize") }
        guard let number = object.integer("message-storage-policy"),
            let policy = ChannelRegistry.StoragePolicy(rawValue: number)
        else { return failure("BadRequestParams") }
        let channelID = Self.channelID(random: &random)
        guard registry.add(channelID, of: bundleID, policy) else { return failure("CannotCreateChannelConfig") }
        return ChannelAnswer(answer: Answer(201), channelID: channelID)
    }

    /// Sixteen bytes of chance in base64.
    private static func channelID(random: inout some RandomNumberGenerator) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        // 21 characters carry 126 bits and the 22nd the last two, in its upper bits.
        let head = (0..<21).map { _ in alphabet[Int.random(in: 0..<64, using: &random)] }
        return head + [alphabet[Int.random(in: 0..<4, using: &random) << 4]] + Array("==".utf8)
    }
}
