import Configuration
import Core
import TLS

extension ConnectionFinding {
    /// The result of a handshake.
    static func secured(_ summary: TLSSummary, at now: WallTime) -> ConnectionFinding {
        guard let certificate = summary.certificate else { return ConnectionFinding(.ok, "tls", summary.version) }
        let name = certificate.subjectCommonName ?? certificate.subjectAlternativeNames.first ?? "no name"
        let issuer = certificate.issuerCommonName.map { ", from \"\($0)\"" } ?? ""
        let text =
            "\(summary.version), the certificate of \"\(name)\"\(issuer) is valid until \(certificate.notAfter.inUTC)"
        switch CertificateExpiry(from: certificate.notBefore, until: certificate.notAfter, at: now) {
        case .soon, .today:
            return ConnectionFinding(
                .warning, "tls", text, hint: "have the server's certificate renewed before it expires")
        case .far, .near, .over, .early: return ConnectionFinding(.ok, "tls", text)
        }
    }
}
