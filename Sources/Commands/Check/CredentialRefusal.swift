import Core

/// A reason of APNs that concerns the app's credential, independent of the request.
///
/// Sources: "Handling notification responses from APNs"; for channel management "Handling error responses from Apple
/// Push Notification service".
struct CredentialRefusal {
    let text: String
    /// The remedy.
    let hint: String
    let isForCertificate: Bool
    /// Whether APNs accepts the credential, but not for this topic.
    let isForTopic: Bool

    /// - Returns: `nil` for a reason that does not concern the credential.
    init?(_ reason: RejectionReason, topic: String) {
        switch reason.rawValue {
        case "BadCertificate", "BadCertificateEnvironment":
            text = "APNs refuses the app's certificate"
            hint = "harebell check shows its expiration, topics and environments; it may have been revoked"
        case "ExpiredProviderToken":
            text = "APNs reports a new provider token as expired"
            hint = "this machine's clock is wrong: set it, and keep it set by NTP"
        case "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
            "UnrelatedKeyIdInToken":
            text = "APNs refuses the provider token of \(topic)"
            hint = "check key_id, team_id and the key's environment; the key may have been revoked"
        case "TopicMismatch", "TopicDisallowed", "Forbidden":
            text = "APNs accepts the provider token, but not for \(topic)"
            hint = "check the topic, and the apps of the key"
        default: return nil
        }
        isForCertificate = reason.rawValue.hasPrefix("BadCertificate")
        isForTopic = ["TopicMismatch", "TopicDisallowed", "Forbidden"].contains(reason.rawValue)
    }
}
