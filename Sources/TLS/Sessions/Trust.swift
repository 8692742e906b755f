import COpenSSL
import Core
package import System

extension TLSContext {
    /// The trusted certificate authorities.
    package enum Trust: Sendable {
        /// The authorities that the operating system trusts.
        case system
        /// The authorities in a PEM file, and no others.
        case file(FilePath)
        /// The authorities in a PEM text, and no others.
        case pem(String)
        /// No checks: for tests, and for servers that request no client certificate.
        case none

        var checksPeer: Bool {
            if case .none = self { false } else { true }
        }

        /// Where an operator adds a certificate. OpenSSL reads `SSL_CERT_FILE`.
        var place: String {
            if case .system = self { return "a CA file, the file in SSL_CERT_FILE or the system's store" }
            return "the CA file"
        }

        /// Sets the authorities of an `SSL_CTX`; a server also sends their names to its clients (RFC 8446 section
        /// 4.2.4).
        func install(in context: OpaquePointer, role: Role) throws(TLSError) {
            switch self {
            case .none:
                break
            case .system:
                guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else {
                    throw .openSSL("the system's authorities cannot be loaded", blame: .local)
                }
            case .file(let file):
                let what = "the CA file"
                try unsafe Self.add(File.text(file, what), "\(what) \(file)", to: context, role: role)
            case .pem(let text):
                try unsafe Self.add(text, "the CA certificates", to: context, role: role)
            }
        }

        private static func add(
            _ text: String, _ what: String, to context: OpaquePointer, role: Role
        ) throws(TLSError) {
            let store = unsafe SSL_CTX_get_cert_store(context)
            try unsafe PEM.forEachCertificate(in: text, what) { (certificate) throws(TLSError) in
                guard
                    unsafe X509_STORE_add_cert(store, certificate) == 1,
                    unsafe role == .client || SSL_CTX_add_client_CA(context, certificate) == 1
                else { throw .openSSL("\(what) cannot be used", blame: .local) }
            }
        }
    }
}
