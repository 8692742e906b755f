/// One row of Apple's table of push types.
///
/// Sources: "Sending notification requests to APNs", "Know when to use push types"; for Live Activities also "Starting
/// and updating Live Activities with ActivityKit push notifications".
package struct PushTypeRules: Sendable {
    package let name: StaticString
    /// What follows the bundle ID in the topic; may be empty.
    package let topicSuffix: StaticString
    /// What every topic starts with; may be empty. Source: Device Management, "MDM", `Topic`.
    package let topicPrefix: StaticString
    /// Whether 5 is its only priority: "Always use priority 5. Using priority 10 is an error."
    package let isAlwaysConsiderate: Bool
    /// Whether a connection with a certificate may carry it, if the certificate lists its topic. Broadcasts may go over
    /// one all the same: they have no topic.
    package let allowsCertificate: Bool
    /// Of a notification to a device, in bytes.
    package let maximumPayload: Int
    /// Whether its payload speaks through the `aps` dictionary; the others may do without.
    package let needsAps: Bool

    private init(
        _ name: StaticString, _ topicSuffix: StaticString = "", topicPrefix: StaticString = "",
        isAlwaysConsiderate: Bool = false,
        allowsCertificate: Bool = true, maximumPayload: Int = 4096, needsAps: Bool = true
    ) {
        self.name = name
        self.topicSuffix = topicSuffix
        self.topicPrefix = topicPrefix
        self.isAlwaysConsiderate = isAlwaysConsiderate
        self.allowsCertificate = allowsCertificate
        self.maximumPayload = maximumPayload
        self.needsAps = needsAps
    }

    /// In the order of ``PushType``.
    package static let all = [
        PushTypeRules("alert"),
        PushTypeRules("background", isAlwaysConsiderate: true),
        PushTypeRules("complication", ".complication", needsAps: false),
        PushTypeRules("controls", ".push-type.controls"),
        PushTypeRules("fileprovider", ".pushkit.fileprovider", needsAps: false),
        PushTypeRules("liveactivity", ".push-type.liveactivity", allowsCertificate: false),
        PushTypeRules("location", ".location-query", allowsCertificate: false, needsAps: false),
        PushTypeRules("mdm", topicPrefix: "com.apple.mgmt.", needsAps: false),
        PushTypeRules("pushtotalk", ".voip-ptt", needsAps: false),
        PushTypeRules("voip", ".voip", maximumPayload: 5120, needsAps: false),
        PushTypeRules("widgets", ".push-type.widgets"),
    ]

    package func permits(_ priority: Priority) -> Bool {
        !isAlwaysConsiderate || priority == .considerate
    }

    /// What goes out where a request names no priority; `nil` sends none, so that APNs takes 10.
    package var defaultPriority: Priority? {
        isAlwaysConsiderate ? .considerate : nil
    }
}
