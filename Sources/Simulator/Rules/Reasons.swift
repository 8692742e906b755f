/// Apple's reasons, which scripts may use without quotes.
///
/// Sources: "Handling notification responses from APNs", "Handling error responses from Apple Push Notification
/// service", and Table 6-6 of the APNs Provider API.
enum Reasons {
    static let all = [
        "BadCertificate", "BadCertificateEnvironment", "BadChannelId", "BadCollapseId", "BadDeviceToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadExpirationDate", "BadMessageId", "BadPath",
        "BadPriority", "BadRequestParams", "BadRequestPayload", "BadTopic", "CannotCreateChannelConfig",
        "ChannelNotRegistered", "DeviceTokenNotForTopic", "DuplicateHeaders", "ExpiredProviderToken", "ExpiredToken",
        "FeatureNotEnabled", "Forbidden", "IdleTimeout", "InternalServerError", "InvalidProviderToken",
        "InvalidPushType", "MethodNotAllowed", "MissingChannelId", "MissingChannelQueueSize", "MissingDeviceToken",
        "MissingProviderToken", "MissingPushType", "MissingTopic", "PayloadEmpty", "PayloadTooLarge",
        "ServiceUnavailable", "Shutdown", "TooManyProviderTokenUpdates", "TooManyRequests", "TopicDisallowed",
        "TopicMismatch", "Unregistered", "UnrelatedKeyIdInToken",
    ]
}
