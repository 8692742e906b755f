import APNs
import Configuration
import Core

/// Explains what the responses of a service mean for the apps that use it.
///
/// Sources: "Handling notification responses from APNs"; for channel management "Handling error responses from Apple
/// Push Notification service".
extension APNsTarget {
    func failure(_ error: APNsError) -> ConnectionFinding {
        let subject =
            switch error.code {
            case .transport: "connection"
            case .tls, .noHTTP2: "tls"
            case .certificateRefused: "credential"
            default: "http/2"
            }
        return softened(.failure(subject, error, hint: hint))
    }

    func silence(_ text: String = "no response in time") -> ConnectionFinding {
        softened(ConnectionFinding(.unreachable, "connection", text, hint: hint))
    }

    private var hint: String? {
        isOptional ? "required only for channels; without it, this check cannot verify the provider token" : nil
    }

    /// A failure of a service that notifications do not need is only a warning.
    private func softened(_ finding: ConnectionFinding) -> ConnectionFinding {
        guard isOptional, finding.severity.isError else { return finding }
        return ConnectionFinding(.warning, finding.subject, finding.text, hint: finding.hint)
    }

    func findings(about response: APNsResponse) -> [ConnectionFinding] {
        let said = "\(response.status)" + (response.reason.map { " \($0.rawValue)" } ?? "")
        guard response.isSuccess || response.reason != nil else {
            return [
                ConnectionFinding(
                    .warning, "answer", "\(said), which APNs never sends: another server may respond in its place",
                    hint: "check host and port of the endpoint")
            ]
        }
        let finding = ConnectionFinding(.ok, "answer", "\(said): it responds as APNs does, and no device was notified")
        return [finding] + (credential(response, said).map { [$0] } ?? [])
    }

    /// What the response shows about the credential; `nil` for nothing.
    private func credential(_ response: APNsResponse, _ said: String) -> ConnectionFinding? {
        func found(_ severity: ConnectionFinding.Severity, _ text: String, hint: String? = nil) -> ConnectionFinding {
            ConnectionFinding(severity, "credential", "\(said): \(text)", hint: hint)
        }
        let refusal = response.reason.flatMap { CredentialRefusal($0, topic: app.topic) }
        if let refusal, refusal.isForCertificate || judgesToken {
            return found(refusal.isForTopic ? .warning : .wrong, refusal.text, hint: refusal.hint)
        }
        switch response.reason?.rawValue {
        case _ where !judgesToken: return nil
        case "FeatureNotEnabled"?:
            return found(.ok, "APNs accepts the provider token, and the clock is correct; the app has no broadcasts")
        case nil where response.isSuccess:
            return found(.ok, "APNs accepts the provider token of \(app.topic), and the clock is correct")
        default: return found(.note, "this does not verify the provider token")
        }
    }
}
