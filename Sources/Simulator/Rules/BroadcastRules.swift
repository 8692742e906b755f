import Core

/// What APNs checks in a broadcast, apart from who sent it: request id, push type, bundle ID, channel, expiration,
/// priority, payload, in this order.
///
/// Sources: "Sending broadcast push notification requests to APNs" and "Handling error responses from Apple Push
/// Notification service".
extension RequestRules {
    /// Bytes. Source: "Sending broadcast push notification requests to APNs".
    static let maximumBroadcastPayload = 5120

    /// - Parameter policy: finds the storage policy of a channel of this app; `nil` if there is no such channel.
    /// - Returns: `nil` if there is nothing to complain about.
    package func check(
        broadcastTo bundleID: ArraySlice<UInt8>, _ fields: RequestFields, body: [UInt8], keyTopics: [[UInt8]] = [],
        policy: (ArraySlice<UInt8>) -> ChannelRegistry.StoragePolicy?
    ) -> Answer? {
        guard Self.isCanonicalUUID(fields.requestID), Self.isCanonicalUUID(fields.id) else {
            return Answer(400, "BadMessageId")
        }
        guard let pushType = fields.pushType else { return Answer(400, "MissingPushType") }
        // Apple's table says "Liveactivity", its samples "liveactivity".
        guard pushType.equals("liveactivity") || pushType.equals("Liveactivity") else {
            return Answer(400, "InvalidPushType")
        }
        guard !endsAsSuffix(bundleID) else { return Answer(400, "TopicDisallowed") }
        guard isAllowed(bundleID, keyTopics) else { return Answer(403, "TopicMismatch") }

        guard let channelID = fields.channelID, !channelID.isEmpty else { return Answer(400, "MissingChannelId") }
        guard Self.isBase64(channelID) else { return Answer(400, "BadChannelId") }
        let policy = policy(channelID[...])
        guard policy != nil || configuration.acceptsUnknownChannels else { return Answer(400, "ChannelNotRegistered") }

        guard let expiration = fields.expiration.flatMap(Self.seconds), expiration == 0 || policy != .noMessageStored
        else {
            return Answer(400, "BadExpirationDate")
        }
        guard let priority = fields.priority, PushTypeRule.unstated.permits(priority: priority) else {
            return Answer(400, "BadPriority")
        }
        guard !body.isEmpty else { return Answer(400, "PayloadEmpty") }
        guard body.count <= Self.maximumBroadcastPayload else { return Answer(413, "PayloadTooLarge") }
        if configuration.checksPayload {
            guard let aps = JSONObject(body[...])?["aps"], aps.kind == .object else {
                return Answer(400, "PayloadEmpty")
            }
        }
        return nil
    }

    /// RFC 4648, section 4, with padding.
    static func isBase64(_ text: [UInt8]) -> Bool {
        guard text.count % 4 == 0 else { return false }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return false }
        return text.dropLast(padding).allSatisfy { $0.isLetterOrDigit(or: "+/") }
    }
}
