import Core
import Decoding
import TLS

/// The checks of a broadcast except the credential: request id, push type, bundle ID, channel, expiration, priority,
/// payload, in this order.
///
/// Sources: "Sending broadcast push notification requests to APNs" and "Handling error responses from Apple Push
/// Notification service".
extension RequestRules {
    /// Bytes. Source: "Sending broadcast push notification requests to APNs".
    static let maximumBroadcastPayload = 5120

    /// - Parameter policy: returns the storage policy of a channel of this app; `nil` if the channel does not exist.
    func check(
        broadcastTo bundleID: ArraySlice<UInt8>, _ fields: RequestHeaders, body: [UInt8],
        policy: (ArraySlice<UInt8>) -> ChannelRegistry.StoragePolicy?
    ) throws(SimulatedResponse) {
        try Self.check("apns-request-id", fields.requestID, anyCase: true)
        try Self.check("apns-id", fields.id)
        let pushType = try Self.required(fields.pushType, "MissingPushType", "apns-push-type")
        // Apple's table says "Liveactivity", its samples "liveactivity".
        guard pushType.equals("liveactivity") || pushType.equals("Liveactivity") else {
            throw SimulatedResponse(
                400, "InvalidPushType", "apns-push-type of a broadcast is \(quoted(pushType)), not liveactivity")
        }
        try check(bundleID: bundleID)
        guard let policy = policy(try Self.channelID(fields)) else { throw Self.unknownChannel }

        let expiration = try Self.required(fields.expiration, "BadExpirationDate", "apns-expiration")
        guard try Self.seconds(expiration) == 0 || policy != .noMessageStored else {
            throw SimulatedResponse(
                400, "BadExpirationDate", "apns-expiration is not 0, and the channel stores no message")
        }
        let priority = try Self.required(fields.priority, "BadPriority", "apns-priority")
        try Self.check(priority: priority, .unstated)
        try Self.check(size: body, Self.maximumBroadcastPayload)
        guard Self.object(body)?["aps"]?.kind == .object else { throw Self.noAps }
    }

    static let unknownChannel = SimulatedResponse(
        400, "ChannelNotRegistered", "the app has no channel with this apns-channel-id")

    /// Checks the bundle ID in the path of a broadcast or a channel management request.
    func check(bundleID: ArraySlice<UInt8>) throws(SimulatedResponse) {
        guard PushTypeRule.suffixed(bundleID) == nil || topics?.contains(Array(bundleID)) == true else {
            throw SimulatedResponse(
                400, "TopicDisallowed",
                "the path has \(quoted(bundleID)), a topic with a suffix and not a bundle ID")
        }
        guard isAllowed(bundleID, certificate?.pushTopics.map { Array($0.name.utf8) } ?? keyTopics) else {
            throw SimulatedResponse(403, "TopicMismatch", Self.unknown(bundleID))
        }
    }

    static func channelID(_ fields: RequestHeaders) throws(SimulatedResponse) -> ArraySlice<UInt8> {
        guard let channelID = fields.channelID, !channelID.isEmpty else {
            throw SimulatedResponse(400, "MissingChannelId", "apns-channel-id is missing")
        }
        guard Base64.standard.decode(channelID.span) != nil else {
            throw SimulatedResponse(400, "BadChannelId", "apns-channel-id is \(quoted(channelID)), not base64")
        }
        return channelID[...]
    }
}
