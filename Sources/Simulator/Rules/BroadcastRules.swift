import Core

/// The checks of a broadcast except the credential: request id, push type, bundle ID, channel, expiration, priority,
/// payload, in this order.
///
/// Sources: "Sending broadcast push notification requests to APNs" and "Handling error responses from Apple Push
/// Notification service".
extension RequestRules {
    /// Bytes. Source: "Sending broadcast push notification requests to APNs".
    static let maximumBroadcastPayload = 5120

    /// - Parameter policy: returns the storage policy of a channel of this app; `nil` if the channel does not exist.
    /// - Returns: `nil` if the request is valid.
    package func check(
        broadcastTo bundleID: ArraySlice<UInt8>, _ fields: RequestFields, body: [UInt8], keyTopics: [[UInt8]] = [],
        policy: (ArraySlice<UInt8>) -> ChannelRegistry.StoragePolicy?
    ) -> SimulatedResponse? {
        guard Self.isCanonicalUUID(fields.requestID) else { return Self.badID("apns-request-id", fields.requestID) }
        guard Self.isCanonicalUUID(fields.id) else { return Self.badID("apns-id", fields.id) }
        guard let pushType = fields.pushType else {
            return SimulatedResponse(400, "MissingPushType", cause: "apns-push-type is missing")
        }
        // Apple's table says "Liveactivity", its samples "liveactivity".
        guard pushType.equals("liveactivity") || pushType.equals("Liveactivity") else {
            return SimulatedResponse(
                400, "InvalidPushType", cause: "apns-push-type of a broadcast is \(quoted(pushType)), not liveactivity")
        }
        if let response = check(bundleID: bundleID, keyTopics) { return response }
        if let response = Self.check(channelID: fields.channelID) { return response }
        let policy = policy(fields.channelID?[...] ?? [])
        guard policy != nil || configuration.acceptsUnknownChannels else { return Self.unknownChannel }

        guard let expiration = fields.expiration.flatMap(Self.seconds) else {
            return SimulatedResponse(
                400, "BadExpirationDate",
                cause: fields.expiration.map { "apns-expiration is \(quoted($0)), not seconds since 1970" }
                    ?? "apns-expiration is missing")
        }
        guard expiration == 0 || policy != .noMessageStored else {
            return SimulatedResponse(
                400, "BadExpirationDate", cause: "apns-expiration is not 0, and the channel stores no message")
        }
        guard let priority = fields.priority, PushTypeRule.unstated.permits(priority: priority) else {
            return Self.badPriority(fields.priority, .unstated)
        }
        if let response = Self.check(size: body, Self.maximumBroadcastPayload) { return response }
        if configuration.checksPayload {
            guard let aps = JSONObject(body[...])?["aps"], aps.kind == .object else { return Self.noAps }
        }
        return nil
    }

    static let unknownChannel = SimulatedResponse(
        400, "ChannelNotRegistered", cause: "the app has no channel with this apns-channel-id")

    /// Checks the bundle ID in the path of a broadcast or a channel management request.
    func check(bundleID: ArraySlice<UInt8>, _ keyTopics: [[UInt8]]) -> SimulatedResponse? {
        guard !endsAsSuffix(bundleID) else {
            return SimulatedResponse(
                400, "TopicDisallowed",
                cause: "the path has \(quoted(bundleID)), a topic with a suffix and not a bundle ID")
        }
        return isAllowed(bundleID, keyTopics)
            ? nil : SimulatedResponse(403, "TopicMismatch", cause: Self.unknown(bundleID))
    }

    static func check(channelID: [UInt8]?) -> SimulatedResponse? {
        guard let channelID, !channelID.isEmpty else {
            return SimulatedResponse(400, "MissingChannelId", cause: "apns-channel-id is missing")
        }
        return isBase64(channelID)
            ? nil : SimulatedResponse(400, "BadChannelId", cause: "apns-channel-id is \(quoted(channelID)), not base64")
    }

    /// RFC 4648, section 4, with padding.
    static func isBase64(_ text: [UInt8]) -> Bool {
        guard text.count % 4 == 0 else { return false }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return false }
        return text.dropLast(padding).allSatisfy { $0.isLetterOrDigit(or: "+/") }
    }
}
