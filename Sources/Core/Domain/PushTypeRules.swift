/// One row of Apple's table of push types.
///
/// Sources: "Sending notification requests to APNs", "Know when to use push types"; for Live Activities also "Starting
/// and updating Live Activities with ActivityKit push notifications".
package struct PushTypeRules: Sendable {
    package let name: StaticString
    /// The topic's suffix after the bundle ID. Empty if the topic is the bundle ID or, for `mdm`, the UID of the
    /// certificate's subject.
    package private(set) var topicSuffix: StaticString = ""
    /// The prefix of every topic; may be empty. Source: Device Management, "MDM", `Topic`.
    package private(set) var topicPrefix: StaticString = ""
    /// Whether it requires priority 5: "Always use priority 5. Using priority 10 is an error."
    package private(set) var isAlwaysConsiderate: Bool = false
    /// Whether a connection with a certificate may carry it, if the certificate lists its topic. Broadcasts are always
    /// allowed, because they have no topic.
    package private(set) var allowsCertificate: Bool = true
    /// The limit for a notification to a device, in bytes.
    package private(set) var maximumPayload: Int = 4096
    /// Whether its payload requires the `aps` dictionary.
    package private(set) var needsAps: Bool = true

    /// Indexed by the raw values of ``PushType``.
    package static let all = PushType.allCases.map(row)

    private static func row(of type: PushType) -> PushTypeRules {
        switch type {
        case .alert: PushTypeRules(name: "alert")
        case .background: PushTypeRules(name: "background", isAlwaysConsiderate: true)
        case .complication: PushTypeRules(name: "complication", topicSuffix: ".complication", needsAps: false)
        case .controls: PushTypeRules(name: "controls", topicSuffix: ".push-type.controls")
        case .fileprovider: PushTypeRules(name: "fileprovider", topicSuffix: ".pushkit.fileprovider", needsAps: false)
        case .liveactivity:
            PushTypeRules(name: "liveactivity", topicSuffix: ".push-type.liveactivity", allowsCertificate: false)
        case .location:
            PushTypeRules(name: "location", topicSuffix: ".location-query", allowsCertificate: false, needsAps: false)
        case .mdm: PushTypeRules(name: "mdm", topicPrefix: "com.apple.mgmt.", needsAps: false)
        case .pushtotalk: PushTypeRules(name: "pushtotalk", topicSuffix: ".voip-ptt", needsAps: false)
        case .voip: PushTypeRules(name: "voip", topicSuffix: ".voip", maximumPayload: 5120, needsAps: false)
        case .widgets: PushTypeRules(name: "widgets", topicSuffix: ".push-type.widgets")
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
