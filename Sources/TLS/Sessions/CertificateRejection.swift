import COpenSSL
import Core

extension TLSSession {
    /// Why a certificate in the peer's chain was not accepted (RFC 5280 section 6).
    ///
    /// - Parameter store: the `X509_STORE_CTX` of a verify callback.
    func rejection(of store: OpaquePointer?) -> TLSError {
        let reason = unsafe X509_STORE_CTX_get_error(store)
        let certificate = unsafe X509_STORE_CTX_get_current_cert(store).map { unsafe Certificate($0) }
        // 0 is the peer's own certificate, 1 its issuer …
        let isOwn = unsafe X509_STORE_CTX_get_error_depth(store) == 0
        let subject =
            isOwn
            ? "the certificate of \(peer)"
            : "\(Self.quoted(certificate?.subjectCommonName)), which issued the certificate of \(peer),"
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
            let names = Self.text(certificate?.subjectAlternativeNames ?? [])
            return TLSError(
                .hostnameMismatch,
                "\(subject) is not for \(serverName ?? "this host"): it names \(names). Use a name that it "
                    + "has, or have one issued with this name as subject alternative name")
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return TLSError(
                .unknownAuthority,
                "the certificate of \(peer) is self-signed and not trusted here: add it to \(context.trustPlace) if it "
                    + "is right")
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_CERT_UNTRUSTED:
            return TLSError(
                .unknownAuthority,
                "the certificate of \(peer) comes from \(Self.quoted(certificate?.issuerCommonName)), an authority "
                    + "that is not trusted here: add the authority's certificate to \(context.trustPlace) if it is "
                    + "right")
        case X509_V_ERR_INVALID_PURPOSE:
            return TLSError(
                .wrongCertificateUsage, "\(subject) is not meant for this use: its extended key usage says otherwise")
        default:
            let text = unsafe String(cString: X509_verify_cert_error_string(Int(reason)))
            return TLSError(TLSError.Code(rawValue: text), "\(subject) is not accepted: \(text)")
        }
    }

    private static func quoted(_ name: String?) -> String {
        name.map { "\"\($0)\"" } ?? "an authority without a name"
    }

    private static func text(_ names: [String]) -> String {
        let shown = names.prefix(5).joined(separator: ", ")
        return switch names.count {
        case 0: "no host at all"
        case 1...5: shown
        default: "\(shown) and \(names.count - 5) more"
        }
    }
}
