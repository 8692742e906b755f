/// One row of Apple's table of push types.
///
/// Sources: "Sending notification requests to APNs", "Know when to use push types"; for Live Activities also "Starting
/// and updating Live Activities with ActivityKit push notifications".
package struct PushTypeRules: Sendable {
    package let name: StaticString
    /// The topic's suffix after the bundle ID; may be empty.
    package let topicSuffix: StaticString
    /// The prefix of every topic; may be empty. Source: Device Management, "MDM", `Topic`.
    package let topicPrefix: StaticString
    /// Whether it requires priority 5: "Always use priority 5. Using priority 10 is an error."
    package let isAlwaysConsiderate: Bool
    /// Whether a connection with a certificate may carry it, if the certificate lists its topic. Broadcasts are always
    /// allowed, because they have no topic.
    package let allowsCertificate: Bool
    /// The limit for a notification to a device, in bytes.
    package let maximumPayload: Int
    /// Whether its payload requires the `aps` dictionary.
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

    /// Indexed by the raw values of ``PushType``.
    package static let all = PushType.allCases.map(PushTypeRules.init)

    private init(_ type: PushType) {
        self =
            switch type {
            case .alert: PushTypeRules("alert")
            case .background: PushTypeRules("background", isAlwaysConsiderate: true)
            case .complication: PushTypeRules("complication", ".complication", needsAps: false)
            case .controls: PushTypeRules("controls", ".push-type.controls")
            case .fileprovider: PushTypeRules("fileprovider", ".pushkit.fileprovider", needsAps: false)
            case .liveactivity: PushTypeRules("liveactivity", ".push-type.liveactivity", allowsCertificate: false)
            case .location:
                PushTypeRules("location", ".location-query", allowsCertificate: false, needsAps: false)
            case .mdm: PushTypeRules("mdm", topicPrefix: "com.apple.mgmt.", needsAps: false)
            case .pushtotalk: PushTypeRules("pushtotalk", ".voip-ptt", needsAps: false)
            case .voip: PushTypeRules("voip", ".voip", maximumPayload: 5120, needsAps: false)
            case .widgets: PushTypeRules("widgets", ".push-type.widgets")
            }
    }

    package func permits(_ priority: Priority) -> Bool {
        !isAlwaysConsiderate || priority == .considerate
    }

    /// The priority of a request without one; `nil` omits the header, and APNs uses 10.
    package var defaultPriority: Priority? {
        isAlwaysConsiderate ? .considerate : nil
    }
}
