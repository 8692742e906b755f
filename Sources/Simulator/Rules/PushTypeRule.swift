import Core

/// One row of Apple's table of push types.
///
/// Source: "Sending notification requests to APNs", "Know when to use push types". The simulator does not share the
/// sender's table, so that a mistake in one of them shows.
package struct PushTypeRule: Sendable {
    let name: StaticString
    /// The suffix after the bundle ID in `apns-topic`. Empty if the topic is the bundle ID or the UID of an MDM
    /// certificate.
    private(set) var suffix: StaticString = ""
    /// What the inbox calls a notification.
    private(set) var label: StaticString = "Alert"
    /// Bytes.
    private(set) var maximumPayload = 4096
    /// Whether Apple's examples of this type all have an `aps` dictionary. PushKit, File Provider and MDM payloads do
    /// not need one.
    private(set) var needsAps = true
    /// Whether a certificate may send it; the others require a provider token.
    private(set) var allowsCertificate = true
    /// The valid values of `apns-priority`.
    private(set) var priorities: [StaticString] = ["10", "5", "1"]
    /// The prefix of every topic of this type; may be empty.
    private(set) var prefix: StaticString = ""

    static let all = [
        Self(name: "alert"),
        // "Always use priority 5. Using priority 10 is an error."
        Self(name: "background", label: "Background notification", priorities: ["5"]),
        Self(name: "complication", suffix: ".complication", label: "Complication update", needsAps: false),
        Self(name: "controls", suffix: ".push-type.controls", label: "Control update"),
        Self(name: "fileprovider", suffix: ".pushkit.fileprovider", label: "File Provider signal", needsAps: false),
        Self(
            name: "liveactivity", suffix: ".push-type.liveactivity", label: "Live Activity", allowsCertificate: false),
        Self(
            name: "location", suffix: ".location-query", label: "Location query", needsAps: false,
            allowsCertificate: false),
        // "You must use the topic from the UID attribute in the subject of your MDM push certificate", which "must
        // begin with the com.apple.mgmt. prefix" (Device Management, "MDM", Topic).
        Self(name: "mdm", label: "MDM command", needsAps: false, prefix: "com.apple.mgmt."),
        Self(name: "pushtotalk", suffix: ".voip-ptt", label: "Push to Talk", needsAps: false),
        Self(name: "voip", suffix: ".voip", label: "Incoming call", maximumPayload: 5120, needsAps: false),
        Self(name: "widgets", suffix: ".push-type.widgets", label: "Widget update"),
    ]

    /// The rules for a request without `apns-push-type` whose topic has none of the suffixes.
    static let unstated = Self(name: "")

    static func named(_ name: some Collection<UInt8>) -> PushTypeRule? {
        all.first { name.equals($0.name) }
    }

    /// What the inbox calls a notification.
    package static func label(of name: [UInt8]?) -> String {
        (named(name ?? []) ?? .unstated).label.description
    }

    /// A topic without the suffix of a push type.
    package static func bundleID(of topic: [UInt8]) -> ArraySlice<UInt8> {
        topic.dropLast(suffixed(topic[...])?.suffix.utf8CodeUnitCount ?? 0)
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
}
