package import Core
package import TLS

/// What a provider certificate means for the app that is configured with it.
///
/// Source: "Sending notification requests to APNs", "Know when to use push types".
extension Certificate {
    /// Whether it names the app: its bundle ID, or the topic of one of its push types, as a VoIP certificate does.
    package func names(bundleID: String) -> Bool {
        if subjectUID == bundleID { return true }
        return PushType.allCases.contains { lists(bundleID + $0.topicSuffix.description) }
    }

    private func lists(_ topic: String) -> Bool {
        pushTopics.contains { $0.name == topic }
    }

    /// What goes into `apns-topic`; for `mdm` the certificate's own topic takes the place of the bundle ID.
    package func topic(of type: PushType, bundleID: String) -> String {
        if type == .mdm, let subjectUID { return subjectUID }
        return bundleID + type.topicSuffix.description
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

    /// Whether it is for an environment; one that does not say is for both.
    package func isFor(_ environment: Environment) -> Bool {
        extensions.environments.isEmpty || extensions.environments.contains(environment)
    }
}
