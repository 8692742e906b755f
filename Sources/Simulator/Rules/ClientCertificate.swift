import Core
package import TLS

/// The data that APNs uses from a client certificate.
///
/// Sources: "Sending notification requests to APNs" (push types), "Handling notification responses from APNs", and for
/// the default topic the APNs Provider API of 2016.
package struct ClientCertificate: Sendable {
    /// As in `apns-topic`: those that its extensions list, else the user ID of its subject.
    let topics: [[UInt8]]
    /// The user ID of its subject: the bundle ID, or the topic of MDM.
    let userID: [UInt8]?
    private let environments: Set<Environment>
    private let notAfter: WallTime

    package init(_ certificate: Certificate) {
        topics = certificate.pushTopics.map { Array($0.name.utf8) }
        userID = certificate.subjectUID.map { Array($0.utf8) }
        environments = certificate.extensions.environments
        notAfter = certificate.notAfter
    }

    /// TLS rejects expired certificates in the handshake; this covers expiry on an open connection.
    func check(in environment: Environment, at now: WallTime) throws(SimulatedResponse) {
        guard !topics.isEmpty else {
            throw SimulatedResponse(403, "BadCertificate", "the client's certificate names no topic")
        }
        guard now <= notAfter else {
            throw SimulatedResponse(403, "BadCertificate", "the client's certificate expired at \(notAfter.inUTC)")
        }
        guard environments.isEmpty || environments.contains(environment) else {
            throw SimulatedResponse(
                403, "BadCertificateEnvironment", "the client's certificate is not for \(environment.rawValue)")
        }
    }

    /// "If you omit this header and your APNs certificate does not specify multiple topics, the APNs server uses the
    /// certificate's Subject as the default topic."
    var defaultTopic: ArraySlice<UInt8>? {
        topics.count == 1 ? ArraySlice(userID ?? topics[0]) : nil
    }

    /// "If a push topic for a specific push type isn't listed, you can't use the certificate to send a notification of
    /// that push type."
    func allows(_ topic: ArraySlice<UInt8>, _ rule: PushTypeRule) -> Bool {
        guard rule.allowsCertificate else { return false }
        if rule.name.description == "mdm" { return userID.map { topic.elementsEqual($0) } ?? false }
        return topics.contains { $0.elementsEqual(topic) }
    }
}
