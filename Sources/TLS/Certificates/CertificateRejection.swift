import COpenSSL
import Core

/// Why a certificate in the peer's chain was not accepted (RFC 5280 section 6).
struct CertificateRejection {
    /// `X509_V_ERR_…`
    var reason: Int32

    /// 0 is the peer's own certificate, 1 its issuer …
    var depth: Int32
    var certificate: Certificate?

    /// Copies from the `X509_STORE_CTX` of a verify callback.
    init(_ store: OpaquePointer?) {
        unsafe reason = X509_STORE_CTX_get_error(store)
        unsafe depth = X509_STORE_CTX_get_error_depth(store)
        unsafe certificate = X509_STORE_CTX_get_current_cert(store).map { unsafe Certificate($0) }
    }

    /// - Parameters:
    ///   - peer: `the server example.com`, `the client`.
    ///   - serverName: the expected name.
    ///   - trustPlace: where an operator adds a trusted certificate.
    func error(peer: String, serverName: String?, trustPlace: String) -> TLSError {
        let subject =
            depth == 0
            ? "the certificate of \(peer)"
            : "\(quoted(certificate?.subjectCommonName)), which issued the certificate of \(peer),"
        switch reason {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TLSError(
                .certificateExpired,
                "\(subject) expired on \(certificate?.notAfter.inUTC ?? "an unknown date"): renew it, "
                    + "unless this machine's clock is wrong")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TLSError(
                .certificateNotYetValid,
                "\(subject) is not valid before \(certificate?.notBefore.inUTC ?? "an unknown date"): check this "
                    + "machine's clock",
                isTransient: true)
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TLSError(
                .hostnameMismatch,
                "\(subject) is not for \(serverName ?? "this host"): it names \(names). Use a name that it "
                    + "has, or have one issued with this name as subject alternative name")
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return TLSError(
                .unknownAuthority,
                "the certificate of \(peer) is self-signed and not trusted here: add it to \(trustPlace) if it is "
                    + "right")
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_CERT_UNTRUSTED:
            return TLSError(
                .unknownAuthority,
                "the certificate of \(peer) comes from \(quoted(certificate?.issuerCommonName)), an authority that "
                    + "is not trusted here: add the authority's certificate to \(trustPlace) if it is right")
        case X509_V_ERR_INVALID_PURPOSE:
            return TLSError(
                .wrongCertificateUsage, "\(subject) is not meant for this use: its extended key usage says otherwise")
        default:
            let text = unsafe String(cString: X509_verify_cert_error_string(Int(reason)))
            return TLSError(TLSError.Code(rawValue: text), "\(subject) is not accepted: \(text)")
        }
    }

    private func quoted(_ name: String?) -> String {
        name.map { "\"\($0)\"" } ?? "an authority without a name"
    }

    private var names: String {
        let names = certificate?.subjectAlternativeNames ?? []
        let shown = names.prefix(5).joined(separator: ", ")
        return switch names.count {
        case 0: "no host at all"
        case 1...5: shown
        default: "\(shown) and \(names.count - 5) more"
        }
    }
}
