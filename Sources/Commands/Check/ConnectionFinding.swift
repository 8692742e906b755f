import Core
import TLS

/// One result of a check of a broker or of APNs.
struct ConnectionFinding: Sendable, Equatable {
    enum Severity: String, Sendable, CaseIterable {
        case ok
        /// For information, or to be checked by other means.
        case note
        case warning
        /// Possibly temporary: the peer is down or unreachable.
        case unreachable
        /// Permanent until an operator changes something.
        case wrong

        var isError: Bool { self == .unreachable || self == .wrong }
    }

    let severity: Severity
    /// The subject of the check: `login`, `queue push.requests` …
    let subject: String
    let text: String
    /// The remedy.
    let hint: String?

    init(_ severity: Severity, _ subject: String, _ text: String, hint: String? = nil) {
        self.severity = severity
        self.subject = subject
        self.text = text
        self.hint = hint
    }
}

extension ConnectionFinding {
    /// Why a connection failed, with the message of the innermost error, which docs/operate/troubleshooting.md
    /// explains.
    static func failure(_ subject: String, _ error: any ComponentError, hint: String? = nil) -> ConnectionFinding {
        var cause: any ComponentError = error
        while let inner = cause.underlying as? any ComponentError { cause = inner }
        return ConnectionFinding(cause.isTransient ? .unreachable : .wrong, subject, cause.message, hint: hint)
    }

    /// The result of a handshake.
    static func secured(_ summary: TLSSummary) -> ConnectionFinding {
        let parameters = [summary.version, summary.group].compactMap(\.self).joined(separator: " with ")
        guard let certificate = summary.certificate else { return ConnectionFinding(.ok, "tls", parameters) }
        let name = certificate.subjectCommonName ?? certificate.subjectAlternativeNames.first ?? "no name"
        let issuer = certificate.issuerCommonName.map { ", from \"\($0)\"" } ?? ""
        let text =
            "\(parameters), the certificate of \"\(name)\"\(issuer) is valid until \(certificate.notAfter.inUTC)"
        return ConnectionFinding(.ok, "tls", text)
    }
}
