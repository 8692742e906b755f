import Core
import TLS

/// The checks of a client certificate.
///
/// Sources: "Sending notification requests to APNs" (push types), "Handling notification responses from APNs", and for
/// the default topic the APNs Provider API of 2016.
extension Certificate {
    /// TLS rejects expired certificates in the handshake; this covers expiry on an open connection.
    func check(in environment: Environment, at now: WallTime) throws(SimulatedResponse) {
        guard !pushTopics.isEmpty else {
            throw SimulatedResponse(403, "BadCertificate", "the client's certificate names no topic")
        }
        guard now <= notAfter else {
            throw SimulatedResponse(403, "BadCertificate", "the client's certificate expired at \(notAfter.inUTC)")
        }
        guard extensions.environments.isEmpty || extensions.environments.contains(environment) else {
            throw SimulatedResponse(
                403, "BadCertificateEnvironment", "the client's certificate is not for \(environment.rawValue)")
        }
    }

    /// "If you omit this header and your APNs certificate does not specify multiple topics, the APNs server uses the
    /// certificate's Subject as the default topic."
    var defaultTopic: ArraySlice<UInt8>? {
        pushTopics.count == 1 ? ArraySlice((subjectUID ?? pushTopics[0].name).utf8) : nil
    }

    /// "If a push topic for a specific push type isn't listed, you can't use the certificate to send a notification of
    /// that push type."
    func allows(_ topic: ArraySlice<UInt8>, _ rule: PushTypeRule) -> Bool {
        guard rule.allowsCertificate else { return false }
        if rule.name.description == "mdm" { return subjectUID.map { topic.elementsEqual($0.utf8) } ?? false }
        return pushTopics.contains { topic.elementsEqual($0.name.utf8) }
    }
}
