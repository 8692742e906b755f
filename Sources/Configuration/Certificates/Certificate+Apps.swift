package import Core
package import TLS

/// The meaning of a provider certificate for its configured app.
///
/// Source: "Sending notification requests to APNs", "Know when to use push types".
extension Certificate {
    /// Whether it names the app by its bundle ID or by the topic of a push type, as a VoIP certificate does.
    package func names(bundleID: String) -> Bool {
        if subjectUID == bundleID { return true }
        return PushType.allCases.contains { lists(bundleID + $0.rules.topicSuffix.description) }
    }

    private func lists(_ topic: String) -> Bool {
        pushTopics.contains { $0.name == topic }
    }

    /// The value of `apns-topic`. For `mdm` it is the certificate's own topic instead of the bundle ID.
    package func topic(of type: PushType, bundleID: String) -> String {
        if type == .mdm, let subjectUID { return subjectUID }
        return bundleID + type.rules.topicSuffix.description
    }

    /// Why it cannot carry a push type to a device; `nil` if it can.
    package func refusal(of type: PushType, bundleID: String) -> String? {
        guard type.rules.allowsCertificate else {
            return "apns-push-type: \(type) cannot be sent with a certificate, only with a provider token"
        }
        guard type != .mdm || subjectUID == nil else { return nil }
        let topic = topic(of: type, bundleID: bundleID)
        guard !lists(topic) else { return nil }
        return "apns-push-type: the app's certificate does not list \"\(topic)\", the topic of \(type)"
    }

    /// Whether it is valid for an environment. A certificate without environments is valid for both.
    package func isFor(_ environment: Environment) -> Bool {
        extensions.environments.isEmpty || extensions.environments.contains(environment)
    }
}
