import Configuration
import Core
import Decoding
import System
import TLS

/// The report of `harebell check` about one app's key or certificate, as text or JSON.
extension ConfigurationInspection.App {
    /// A line for the app and one for each topic of its certificate.
    func lines(at now: WallTime) -> [String] {
        let head = "app \(topic) (\(environment)): "
        switch credential {
        case .token(let keyFile, let keyID, let teamID, let isReadable):
            return [head + "signing key \(keyID) of team \(teamID), \(keyFile)\(isReadable ? "" : " (not usable)")"]
        case .certificate(nil):
            return [head + "unreadable certificate"]
        case .certificate(let certificate?):
            let environments = Self.environments(of: certificate).joined(separator: " and ")
            let days = Self.days(until: certificate.notAfter, from: now)
            let date = certificate.notAfter.inUTC
            let expiry = days < 0 ? "expired on \(date)" : "expires on \(date) (\(days) days)"
            var table = TextTable()
            for topic in certificate.pushTopics { table.add([topic.name, topic.kinds.joined(separator: ", ")]) }
            return [head + "certificate for \(environments.isEmpty ? "any environment" : environments), \(expiry)"]
                + table.lines.map { "    \($0)" }
        }
    }

    func json(at now: WallTime) -> JSONOutput {
        var members: [(String, JSONOutput)] = [("topic", .text(topic)), ("environment", .text(environment))]
        switch credential {
        case .token(let keyFile, let keyID, let teamID, let isReadable):
            members += [
                ("credential", .text("token")), ("readable", .boolean(isReadable)),
                ("key_file", .text(keyFile.description)),
                ("key_id", .text(keyID)), ("team_id", .text(teamID)),
            ]
        case .certificate(let certificate):
            members += [("credential", .text("certificate")), ("readable", .boolean(certificate != nil))]
            guard let certificate else { break }
            members += [
                ("common_name", .optional(certificate.subjectCommonName)),
                ("user_id", .optional(certificate.subjectUID)), ("issuer", .optional(certificate.issuerCommonName)),
                ("environments", .array(Self.environments(of: certificate).map { .text($0) })),
                ("topics", .array(certificate.pushTopics.map(Self.object))),
                ("not_before", .text(certificate.notBefore.inUTC)), ("not_after", .text(certificate.notAfter.inUTC)),
                ("days_left", .integer(Self.days(until: certificate.notAfter, from: now))),
            ]
        }
        return .object(members)
    }

    private static func object(_ topic: ProviderExtensions.Topic) -> JSONOutput {
        .object([("topic", .text(topic.name)), ("kinds", .array(topic.kinds.map { .text($0) }))])
    }

    /// In the order of declaration; empty if the certificate does not contain any.
    private static func environments(of certificate: Certificate) -> [String] {
        Environment.allCases.filter(certificate.extensions.environments.contains).map(\.rawValue)
    }

    /// Whole days, negative after expiry.
    private static func days(until end: WallTime, from now: WallTime) -> Int {
        Int((Double(end.milliseconds - now.milliseconds) / 86_400_000).rounded(.down))
    }
}
