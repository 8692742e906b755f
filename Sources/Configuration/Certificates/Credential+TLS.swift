package import TLS

extension Configuration.Credential {
    /// The certificate for the TLS handshake; `nil` for provider tokens.
    package func tlsIdentity() throws(TLSError) -> TLSContext.Identity? {
        switch self {
        case .token: return nil
        case .pem(let certificateFile, let privateKeyFile):
            return .pem(certificateFile: certificateFile, privateKeyFile: privateKeyFile)
        case .p12(let file, let password):
            return .pkcs12(file: file, password: password?.reveal() ?? "")
        }
    }
}
