import COpenSSL
package import Core

/// Apple's extensions of a provider certificate: its topics and its environments.
///
/// Apple documents the identifiers and their content, but not their ASN.1. This is the form of the certificates in
/// use:
///
///     1.2.840.113635.100.6.3.1   NULL                          for the development environment
///     1.2.840.113635.100.6.3.2   NULL                          for the production environment
///     1.2.840.113635.100.6.3.4   UTF8String                    VoIP topics, separated by commas
///     1.2.840.113635.100.6.3.6   SEQUENCE {
///                                  UTF8String                  a topic
///                                  SEQUENCE { UTF8String … }   its kinds: app, voip, complication …
///                                  … }
///
/// Other string types and SET are accepted as well. An extension in any other form is recorded as ``damage`` and
/// yields nothing, because a partial list would be taken for a complete one.
///
/// Sources: "Sending notification requests to APNs" (push types), the APNs Provider API of 2016 (how the topics
/// print).
package struct ProviderExtensions: Sendable, Equatable {
    /// A topic that the certificate allows.
    package struct Topic: Sendable, Equatable {
        /// As in `apns-topic`.
        package var name: String
        /// Apple's names of its uses; may be empty.
        package var kinds: [String]

        package init(_ name: String, kinds: [String] = []) {
            self.name = name
            self.kinds = kinds
        }
    }

    /// In the certificate's order, without duplicates; empty if no extension lists any.
    package var topics: [Topic]

    /// Empty if the certificate does not contain any.
    package var environments: Set<Environment>

    /// The ignored parts, one sentence each.
    package private(set) var damage: [String] = []

    package init(topics: [Topic] = [], environments: Set<Environment> = []) {
        self.topics = topics
        self.environments = environments
    }

    static let development = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    static let voIPTopics = "1.2.840.113635.100.6.3.4"
    static let topics = "1.2.840.113635.100.6.3.6"

    /// Reads the extensions of an `X509`.
    init(of certificate: OpaquePointer) {
        self.init()
        if unsafe X509Extension.isPresent(Self.development, in: certificate) { environments.insert(.development) }
        if unsafe X509Extension.isPresent(Self.production, in: certificate) { environments.insert(.production) }
        var names: Set<String> = []
        for identifier in [Self.topics, Self.voIPTopics] {
            guard unsafe X509Extension.isPresent(identifier, in: certificate) else { continue }
            let value = unsafe X509Extension.value(of: identifier, in: certificate)
            guard let value, let listed = Self.topics(in: value, isVoIP: identifier == Self.voIPTopics) else {
                damage.append("extension \(identifier) is damaged, its topics are not known")
                continue
            }
            for topic in listed where names.insert(topic.name).inserted { topics.append(topic) }
        }
    }

    private static func topics(in value: [UInt8], isVoIP: Bool) -> [Topic]? {
        guard let value = ASN1Value(value) else { return nil }
        switch value {
        case .text(let text):
            // There may be spaces around a name.
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.split(separator: " ") }
            guard names.allSatisfy({ $0.count == 1 && isTopic($0[0]) }) else { return nil }
            return names.map { Topic(String($0[0]), kinds: isVoIP ? ["voip"] : []) }
        case .list(let elements):
            var topics: [Topic] = []
            for element in elements {
                switch element {
                case .text(let name):
                    guard isTopic(name) else { return nil }
                    topics.append(Topic(name))
                case .list(let kinds):
                    guard let last = topics.indices.last, topics[last].kinds.isEmpty else { return nil }
                    for kind in kinds {
                        guard case .text(let name) = kind, isTopic(name) else { return nil }
                        topics[last].kinds.append(name)
                    }
                }
            }
            return topics.isEmpty ? nil : topics
        }
    }

    /// Whether it is valid in a header field: printable ASCII without spaces.
    private static func isTopic(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension Certificate {
    /// The certificate's topics: those in its extensions, else the subject's user ID. Empty if it is not a provider
    /// certificate.
    package var pushTopics: [ProviderExtensions.Topic] {
        if !extensions.topics.isEmpty { return extensions.topics }
        return subjectUID.map { [ProviderExtensions.Topic($0)] } ?? []
    }
}
