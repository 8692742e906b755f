import COpenSSL
import Core

/// Explains OpenSSL's reasons for a failure.
extension TLSSession {
    var peer: String {
        guard context.role == .client else { return "the client" }
        return serverName.map { "the server \($0)" } ?? "the server"
    }

    var noProtocol: TLSError {
        let names = context.protocols.joined(separator: ", ")
        return context.role == .client
            ? TLSError(
                .noProtocol,
                "\(peer) agreed to no application protocol (offered: \(names)): check host and port, and that no proxy "
                    + "terminates TLS")
            : TLSError(.noProtocol, "\(peer) offered no application protocol of \(names)")
    }

    /// - Parameters:
    ///   - status: from `SSL_get_error`.
    ///   - entry: from the error queue.
    func error(status: Int32, _ entry: ErrorQueue.Entry?) -> TLSError {
        if status == SSL_ERROR_ZERO_RETURN {
            return TLSError(
                .closedInHandshake, "\(peer) closed the connection during the TLS handshake", isTransient: true)
        }
        guard let entry, entry.library == ERR_LIB_SSL else {
            let reason = entry?.text ?? "SSL_get_error \(status)"
            return TLSError(TLSError.Code(rawValue: reason), "TLS with \(peer) failed: \(reason)", isTransient: true)
        }
        switch entry.reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            if let rejection { return rejection }
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return TLSError(.clientCertificateMissing, "the client sent no certificate")
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return noProtocol
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_VERSION_TOO_LOW:
            return noCommonVersion
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST:
            guard !isEstablished else { break }
            return TLSError(.notTLS, "\(peer) does not speak TLS on this port: check the port and the scheme")
        case SSL_AD_REASON_OFFSET..<SSL_AD_REASON_OFFSET + 256:
            return error(alert: entry.reason - SSL_AD_REASON_OFFSET, entry.text)
        default:
            break
        }
        return TLSError(
            TLSError.Code(rawValue: entry.text), "TLS with \(peer) failed: \(entry.text)", isTransient: true)
    }

    private var noCommonVersion: TLSError {
        TLSError(.noCommonVersion, "\(peer) and Harebell have no TLS version in common")
    }

    /// The peer's alert (RFC 8446 section 6).
    private func error(alert: Int32, _ text: String) -> TLSError {
        let name = unsafe String(cString: SSL_alert_desc_string_long(alert))
        switch alert {
        case SSL_AD_NO_APPLICATION_PROTOCOL:
            return noProtocol
        case SSL_AD_PROTOCOL_VERSION:
            return noCommonVersion
        case TLS13_AD_CERTIFICATE_REQUIRED:
            return certificateMissing
        case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED,
            SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED:
            return certificateRefused(alert: name)
        // With TLS 1.2 this is a server's only alert for a missing client certificate (RFC 5246 section 7.4.6).
        case SSL_AD_HANDSHAKE_FAILURE where wasAskedForCertificate:
            return context.hasIdentity ? certificateRefused(alert: name) : certificateMissing
        default:
            return TLSError(
                TLSError.Code(rawValue: text), "\(peer) ended the TLS connection with the alert \"\(name)\"",
                isTransient: true)
        }
    }

    private var certificateMissing: TLSError {
        TLSError(.clientCertificateMissing, "\(peer) requires a client certificate, but none is configured")
    }

    private func certificateRefused(alert: String) -> TLSError {
        if context.role == .server {
            return TLSError(.serverCertificateRefused, "the client refused this server's certificate (\(alert))")
        }
        guard wasAskedForCertificate, !context.hasIdentity else {
            return TLSError(
                .clientCertificateRefused,
                "\(peer) refused our client certificate (\(alert)): check that it is the right one, has not expired "
                    + "and that the server knows its authority")
        }
        return certificateMissing
    }
}
