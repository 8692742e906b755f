import COpenSSL
package import Core

/// What Apple writes into the extensions of a provider certificate: its topics and its environments.
///
/// Apple documents the identifiers and what they hold, not their ASN.1. This is the form of the certificates in use:
///
///     1.2.840.113635.100.6.3.1   NULL                          for the development environment
///     1.2.840.113635.100.6.3.2   NULL                          for the production environment
///     1.2.840.113635.100.6.3.4   UTF8String                    VoIP topics, separated by commas
///     1.2.840.113635.100.6.3.6   SEQUENCE {
///                                  UTF8String                  a topic
///                                  SEQUENCE { UTF8String … }   its kinds: app, voip, complication …
///                                  … }
///
/// Other string types and SET are read as well. An extension in any other form counts as ``damage`` and gives nothing:
/// half a list would be taken for the whole.
///
/// Sources: "Sending notification requests to APNs" (push types), the APNs Provider API of 2016 (how the topics print).
package struct ProviderExtensions: Sendable, Equatable {
    /// A topic that the certificate may push to.
    package struct Topic: Sendable, Equatable {
        /// As it stands in `apns-topic`.
        package var name: String
        /// Apple's words for what it is for; may be empty.
        package var kinds: [String]

        package init(_ name: String, kinds: [String] = []) {
            self.name = name
            self.kinds = kinds
        }
    }

    /// In the certificate's order, each once; empty where no extension lists any.
    package var topics: [Topic]

    /// Empty where the certificate does not say.
    package var environments: Set<Environment>

    /// What was passed over, one sentence each.
    package private(set) var damage: [String] = []

    package init(topics: [Topic] = [], environments: Set<Environment> = []) {
        self.topics = topics
        self.environments = environments
    }

    static let development = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    static let voIPTopics = "1.2.840.113635.100.6.3.4"
    static let topics = "1.2.840.113635.100.6.3.6"

    /// Reads an `X509`.
    init(of certificate: OpaquePointer) {
        self.init()
        if unsafe X509Extension.isPresent(Self.development, in: certificate) { environments.insert(.development) }
        if unsafe X509Extension.isPresent(Self.production, in: certificate) { environments.insert(.production) }
        for identifier in [Self.topics, Self.voIPTopics] {
            guard unsafe X509Extension.isPresent(identifier, in: certificate) else { continue }
            let value = unsafe X509Extension.value(of: identifier, in: certificate)
            guard let value, let listed = Self.topics(in: value, isVoIP: identifier == Self.voIPTopics) else {
                damage.append("extension \(identifier) is damaged, its topics are not known")
                continue
            }
            for topic in listed where !topics.contains(where: { $0.name == topic.name }) { topics.append(topic) }
        }
    }

    private static func topics(in value: [UInt8], isVoIP: Bool) -> [Topic]? {
        guard let value = ASN1Value(value) else { return nil }
        switch value {
        case .text(let text):
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(trimmed)
            guard names.allSatisfy(isTopic) else { return nil }
            return names.map { Topic($0, kinds: isVoIP ? ["voip"] : []) }
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

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.reversed().drop { $0 == " " }.reversed())
    }

    /// What can stand in a header field: printable ASCII without spaces.
    private static func isTopic(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension Certificate {
    /// What the certificate may push to: the topics that its extensions list, else the subject's user ID. Empty for
    /// one that is no provider certificate.
    package var pushTopics: [ProviderExtensions.Topic] {
        if !extensions.topics.isEmpty { return extensions.topics }
        return subjectUID.map { [ProviderExtensions.Topic($0)] } ?? []
    }
}
