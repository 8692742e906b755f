package import System

extension TLSContext {
    /// The trusted certificate authorities.
    package enum Trust: Hashable, Sendable {
        /// The authorities that the operating system trusts.
        case system
        /// The authorities in a PEM file, and no others.
        case file(FilePath)
        /// The authorities in a PEM text, and no others.
        case pem(String)
        /// No checks: for tests, and for servers that request no client certificate.
        case none

        var checksPeer: Bool { self != .none }

        /// Where an operator adds a certificate. OpenSSL reads `SSL_CERT_FILE`.
        var place: String {
            self == .system ? "a CA file, the file in SSL_CERT_FILE or the system's store" : "the CA file"
        }
    }
}
