package import Core

/// Why something with TLS, a certificate or a key failed.
package struct TLSError: ComponentError {
    /// What failed: one of the codes below, else OpenSSL's own reason string (`bad record mac` …).
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        // The peer's certificate.
        package static let certificateExpired = Code(rawValue: "certificateExpired")
        package static let certificateNotYetValid = Code(rawValue: "certificateNotYetValid")
        package static let hostnameMismatch = Code(rawValue: "hostnameMismatch")
        package static let unknownAuthority = Code(rawValue: "unknownAuthority")
        package static let wrongCertificateUsage = Code(rawValue: "wrongCertificateUsage")

        // The handshake.
        package static let noProtocol = Code(rawValue: "noProtocol")
        package static let noCommonVersion = Code(rawValue: "noCommonVersion")
        package static let notTLS = Code(rawValue: "notTLS")
        package static let closedInHandshake = Code(rawValue: "closedInHandshake")

        // Our own certificate, as the peer sees it.
        package static let clientCertificateMissing = Code(rawValue: "clientCertificateMissing")
        package static let clientCertificateRefused = Code(rawValue: "clientCertificateRefused")
        package static let serverCertificateRefused = Code(rawValue: "serverCertificateRefused")

        // Files and texts.
        package static let unreadableFile = Code(rawValue: "unreadableFile")
        package static let badPEM = Code(rawValue: "badPEM")
        package static let badPKCS12 = Code(rawValue: "badPKCS12")
        package static let wrongPassword = Code(rawValue: "wrongPassword")
        package static let keyMismatch = Code(rawValue: "keyMismatch")
        package static let wrongKeyType = Code(rawValue: "wrongKeyType")
        package static let encryptedKey = Code(rawValue: "encryptedKey")
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)? = nil
    package let blame: Blame
    package let isTransient: Bool

    init(_ code: Code, _ message: String, blame: Blame, isTransient: Bool = false) {
        self.code = code
        self.message = message
        self.blame = blame
        self.isTransient = isTransient
    }

    /// A failure of OpenSSL that has no code of ours; takes OpenSSL's whole error queue.
    static func openSSL(_ what: String, blame: Blame, isTransient: Bool = false) -> TLSError {
        let reason = ErrorQueue.take()?.text ?? "unknown"
        return TLSError(Code(rawValue: reason), "\(what): \(reason)", blame: blame, isTransient: isTransient)
    }
}
