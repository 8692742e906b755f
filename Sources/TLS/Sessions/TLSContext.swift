import COpenSSL
package import Core
import Glibc

/// The common settings of TLS sessions: identity, trust and application protocols.
///
/// A context belongs to one worker. The minimum version is TLS 1.2 (Apple, "Establishing a connection to APNs").
/// Sessions are neither resumed nor renegotiated.
@safe
package final class TLSContext {
    package enum Role: Sendable {
        case client, server
    }

    package enum Version: Comparable, Sendable {
        case tls12, tls13

        fileprivate var number: Int32 { self == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION }
    }

    package let role: Role

    /// The application protocols offered or accepted (ALPN, RFC 7301), in order of preference.
    package let protocols: [String]

    let hasIdentity: Bool

    /// Where an operator adds a trusted certificate.
    let trustPlace: String

    /// Whether every certificate of the peer is accepted.
    let acceptsAnyCertificate: Bool

    let pointer: OpaquePointer

    /// ``protocols`` in wire format. `SSL_select_next_proto` returns a pointer into it.
    let protocolList: UnsafeMutableBufferPointer<UInt8>

    /// - Parameters:
    ///   - identity: required for a server.
    ///   - protocols: empty for no ALPN. Otherwise a client fails with ``TLSError/Code/noProtocol`` when the server
    ///     selects none of them. A server fails when the client offers none of them.
    ///   - requiresPeerCertificate: for servers only. Without trust, any certificate is accepted. With trust but
    ///     without this, the server requests a client certificate and checks it if present. A client always requires
    ///     and checks the server's certificate, unless its trust is `none`.
    ///   - versions: tests use narrower ranges.
    ///   - checkedAt: the time at which certificates must be valid; the system clock by default.
    package init(
        role: Role, trust: Trust, identity: Identity? = nil, protocols: [String] = [],
        requiresPeerCertificate: Bool? = nil, versions: ClosedRange<Version> = .tls12 ... .tls13,
        checkedAt: WallTime? = nil
    ) throws(TLSError) {
        precondition(role == .client || identity != nil, "a server needs a certificate")
        precondition(protocols.allSatisfy { 1...255 ~= $0.utf8.count }, "a protocol's name has 1 to 255 bytes")
        guard let context = unsafe SSL_CTX_new(TLS_method()) else {
            throw .openSSL("OpenSSL cannot create a TLS context")
        }
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        self.role = role
        self.protocols = protocols
        unsafe pointer = context
        unsafe protocolList = .allocate(capacity: list.count)
        _ = unsafe protocolList.initialize(from: list)
        hasIdentity = identity != nil
        trustPlace = trust.place
        let isRequired = role == .server && requiresPeerCertificate == true
        acceptsAnyCertificate = isRequired && !trust.checksPeer

        unsafe shim_SSL_CTX_set_min_proto_version(context, versions.lowerBound.number)
        unsafe shim_SSL_CTX_set_max_proto_version(context, versions.upperBound.number)
        unsafe SSL_CTX_set_options(
            context, shim_SSL_OP_NO_RENEGOTIATION | shim_SSL_OP_NO_COMPRESSION | shim_SSL_OP_NO_TICKET)
        unsafe SSL_CTX_set_num_tickets(context, 0)
        unsafe shim_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        unsafe shim_SSL_CTX_set_mode(
            context,
            // Without the last one, an idle connection keeps 34 KiB.
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
                | Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe shim_SSL_CTX_set_read_ahead(context, 1)

        try unsafe identity?.install(in: context)
        if trust.checksPeer { try unsafe TrustStore.of(trust).install(in: context, role: role) }
        unsafe setVerification(context, checks: trust.checksPeer || isRequired, isRequired: isRequired, at: checkedAt)
        unsafe setCallbacks(context)
        ErrorQueue.clear()
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
        unsafe protocolList.deallocate()
    }

    private func setVerification(_ context: OpaquePointer, checks: Bool, isRequired: Bool, at time: WallTime?) {
        guard checks else { return unsafe SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil) }
        let mode = SSL_VERIFY_PEER | (isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0)
        unsafe SSL_CTX_set_verify(context, mode) { isValid, store in
            unsafe TLSSession.verified(isValid: isValid == 1, store) ? 1 : 0
        }
        let parameters = unsafe SSL_CTX_get0_param(context)
        // The operator's certificates are trusted even if they are not roots.
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        // Host names are matched against subject alternative names only (RFC 9525 section 6.3).
        unsafe X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS) | UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        if let time { unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time.seconds)) }
    }

    private func setCallbacks(_ context: OpaquePointer) {
        switch role {
        case .client:
            if !protocols.isEmpty {
                let failed = unsafe SSL_CTX_set_alpn_protos(
                    context, protocolList.baseAddress, UInt32(protocolList.count))
                precondition(failed == 0, "the list of protocols is well formed")
            }
            // A client calls this only when the server requests a certificate.
            unsafe SSL_CTX_set_cert_cb(
                context,
                { ssl, _ in
                    unsafe TLSSession.of(ssl).pointee.wasAskedForCertificate = true
                    return 1
                }, nil)
        case .server:
            guard !protocols.isEmpty else { return }
            unsafe SSL_CTX_set_alpn_select_cb(
                context,
                { ssl, chosen, count, offered, offeredCount, _ in
                    let own = unsafe TLSSession.of(ssl).pointee.context.protocolList
                    var match: UnsafeMutablePointer<UInt8>?
                    let result = unsafe SSL_select_next_proto(
                        &match, count, own.baseAddress, UInt32(own.count), offered, offeredCount)
                    unsafe chosen?.pointee = unsafe UnsafePointer(match)
                    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
                }, nil)
        }
    }
}
