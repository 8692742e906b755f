import Core

/// One row of Apple's table of push types.
///
/// Source: "Sending notification requests to APNs", "Know when to use push types". The simulator does not share the
/// sender's table, so that a mistake in one of them shows.
struct PushTypeRule: Sendable {
    let name: StaticString
    /// The suffix after the bundle ID in `apns-topic`. Empty if the topic is the bundle ID or the UID of an MDM
    /// certificate.
    let suffix: StaticString
    /// Bytes.
    let maximumPayload: Int
    /// Whether Apple's examples of this type all have an `aps` dictionary. PushKit, File Provider and MDM payloads do
    /// not need one.
    let needsAps: Bool
    /// Whether a certificate may send it; the others require a provider token.
    let allowsCertificate: Bool
    /// The valid values of `apns-priority`.
    let priorities: [StaticString]
    /// The prefix of every topic of this type; may be empty.
    let prefix: StaticString

    private init(
        _ name: StaticString, _ suffix: StaticString = "", maximumPayload: Int = 4096, needsAps: Bool = true,
        allowsCertificate: Bool = true, priorities: [StaticString] = Self.allPriorities, prefix: StaticString = ""
    ) {
        self.name = name
        self.suffix = suffix
        self.maximumPayload = maximumPayload
        self.needsAps = needsAps
        self.allowsCertificate = allowsCertificate
        self.priorities = priorities
        self.prefix = prefix
    }

    static let allPriorities: [StaticString] = ["10", "5", "1"]

    static let all = [
        PushTypeRule("alert"),
        // "Always use priority 5. Using priority 10 is an error."
        PushTypeRule("background", priorities: ["5"]),
        PushTypeRule("complication", ".complication", needsAps: false),
        PushTypeRule("controls", ".push-type.controls"),
        PushTypeRule("fileprovider", ".pushkit.fileprovider", needsAps: false),
        PushTypeRule("liveactivity", ".push-type.liveactivity", allowsCertificate: false),
        PushTypeRule("location", ".location-query", needsAps: false, allowsCertificate: false),
        // "You must use the topic from the UID attribute in the subject of your MDM push certificate", which "must
        // begin with the com.apple.mgmt. prefix" (Device Management, "MDM", Topic).
        PushTypeRule("mdm", needsAps: false, prefix: "com.apple.mgmt."),
        PushTypeRule("pushtotalk", ".voip-ptt", needsAps: false),
        PushTypeRule("voip", ".voip", maximumPayload: 5120, needsAps: false),
        PushTypeRule("widgets", ".push-type.widgets"),
    ]

    /// The rules for a request without `apns-push-type` whose topic has none of the suffixes.
    static let unstated = PushTypeRule("")

    static func named(_ name: some Collection<UInt8>) -> PushTypeRule? {
        all.first { name.equals($0.name) }
    }

    /// The row whose suffix ends `topic`.
    static func suffixed(_ topic: ArraySlice<UInt8>) -> PushTypeRule? {
        all.first { $0.suffix.utf8CodeUnitCount > 0 && topic.hasSuffix($0.suffix) }
    }
}

extension ArraySlice where Element == UInt8 {
    func hasSuffix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && suffix(text.utf8CodeUnitCount).equals(text)
    }

    func hasPrefix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && prefix(text.utf8CodeUnitCount).equals(text)
    }

    /// Whether the bytes form a bundle ID: dot-separated words of letters, digits and hyphens.
    var isBundleID: Bool {
        split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { word in
            !word.isEmpty && word.allSatisfy { $0.isLetterOrDigit(or: "-") }
        }
    }

    var isHexadecimal: Bool {
        allSatisfy { $0.hexDigit != nil }
    }
}
