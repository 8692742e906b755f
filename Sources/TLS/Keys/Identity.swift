import COpenSSL
import Core
package import System

extension TLSContext {
    /// The local identity: a certificate with its chain, and its private key.
    package enum Identity: Sendable {
        /// Two PEM files, or the same one twice: the certificate followed by its issuers, and the unencrypted private
        /// key.
        case pem(certificateFile: FilePath, privateKeyFile: FilePath)
        case pemText(certificates: String, privateKey: String)
        /// A PKCS #12 file (RFC 7292), as keychains export it.
        case pkcs12(file: FilePath, password: String = "")

        /// The certificate itself. Reads the files.
        package func certificate() throws(TLSError) -> Certificate {
            let material = try load()
            return try Certificate(pem: material.certificates, material.certificateName)
        }

        /// Checks a PEM file with a private key whose certificate cannot be read.
        package static func checkKey(_ file: FilePath) throws(TLSError) {
            let what = "the private key file"
            _ = try PEM.privateKey(in: File.text(file, what), "\(what) \(file)")
        }

        /// Sets certificate, chain and key of an `SSL_CTX`.
        func install(in context: OpaquePointer) throws(TLSError) {
            let material = try load()
            let (certificateName, keyName) = (material.certificateName, material.keyName)
            let key = try PEM.privateKey(in: material.privateKey, keyName)
            var isFirst = true
            try unsafe PEM.forEachCertificate(in: material.certificates, certificateName) {
                (certificate) throws(TLSError) in
                if isFirst {
                    isFirst = false
                    try unsafe Self.requireMatch(certificate, certificateName, key, keyName)
                    guard unsafe SSL_CTX_use_certificate(context, certificate) == 1 else {
                        throw .openSSL("\(certificateName) cannot be used")
                    }
                } else if unsafe shim_SSL_CTX_add1_chain_cert(context, certificate) != 1 {
                    throw .openSSL("\(certificateName) cannot be used")
                }
            }
            guard unsafe SSL_CTX_use_PrivateKey(context, key.pointer) == 1 else {
                throw .openSSL("\(keyName) cannot be used")
            }
        }

        private static func requireMatch(
            _ certificate: OpaquePointer, _ certificateName: String, _ key: borrowing Owned, _ keyName: String
        ) throws(TLSError) {
            guard unsafe X509_check_private_key(certificate, key.pointer) != 1 else { return }
            ErrorQueue.clear()
            throw TLSError(
                .keyMismatch,
                "\(keyName) does not belong to \(certificateName): it needs the key that the certificate was requested "
                    + "with")
        }

        /// PEM texts and their names in errors.
        private typealias Material = (
            certificates: String, certificateName: String, privateKey: String, keyName: String
        )

        private func load() throws(TLSError) -> Material {
            switch self {
            case .pemText(let certificates, let privateKey):
                return (certificates, "the certificate", privateKey, "the private key")
            case .pem(let certificateFile, let keyFile):
                return try (
                    certificates: File.text(certificateFile, "the certificate file"),
                    certificateName: "the certificate file \(certificateFile)",
                    privateKey: File.text(keyFile, "the private key file"),
                    keyName: "the private key file \(keyFile)"
                )
            case .pkcs12(let file, let password):
                let what = "the PKCS #12 file"
                let name = "\(what) \(file)"
                let (certificates, key) = try PKCS12.pem(of: File.bytes(file, what), password: password, name)
                return (certificates, "the certificate in \(name)", key, "the private key in \(name)")
            }
        }
    }
}
