import Core

/// What an answer says about the provider token that its request carried.
///
/// Source: "Handling notification responses from APNs", Table 2.
enum TokenRefusal: String, CaseIterable {
    case expired = "ExpiredProviderToken"
    /// Of another team than the connection's, signed with an unknown key, or not valid at all.
    case invalid = "InvalidProviderToken"
    case missing = "MissingProviderToken"
    /// Of another key than the connection's.
    case unrelatedKey = "UnrelatedKeyIdInToken"
    /// It came too soon after another one.
    case tooManyUpdates = "TooManyProviderTokenUpdates"
    case wrongEnvironment = "BadEnvironmentKeyIdInToken"
    /// As seen in the wild.
    case wrongEnvironmentKey = "BadEnvironmentKeyInToken"

    init?(_ reason: RejectionReason?) {
        guard let reason else { return nil }
        self.init(rawValue: reason.rawValue)
    }
}
