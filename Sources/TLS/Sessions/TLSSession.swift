import COpenSSL
package import Core

/// One TLS connection without a socket: ciphertext in and out on one side, plaintext on the other.
///
/// Whoever owns it calls ``receive(_:)`` for what arrives, ``handshake()`` until that is true, then
/// ``read(into:upTo:)`` until it wants input, and sends what ``drain(into:)`` gives — also after an error, for then it
/// is the alert that tells the peer. Once a call has failed, every later one fails the same way.
@safe
package final class TLSSession {
    package enum ReadResult: Equatable, Sendable {
        /// So many bytes were appended, at least one; there may be more.
        case bytes(Int)
        /// Everything that arrived was read.
        case wantsInput
        /// The peer has sent close_notify: nothing will follow (RFC 8446 section 6.1).
        case closed
    }

    package let context: TLSContext

    /// The name or address that the server has to prove.
    let serverName: String?

    private let ssl: OpaquePointer

    // Both belong to `ssl`.
    private let input: OpaquePointer
    private let output: OpaquePointer

    package private(set) var isEstablished = false
    private var isClosed = false
    private var failure: TLSError?
    private var rejection: CertificateRejection?
    private var wasAskedForCertificate = false

    /// - Parameter serverName: for a client the host that it connects to, which the server's certificate has to name: a
    ///   DNS name (also sent, RFC 6066 section 3) or an IP address (which is not). Without one only the chain is
    ///   checked.
    package init(context: TLSContext, serverName: String?) {
        precondition(serverName?.isEmpty != true, "an empty name would be taken for none")
        self.context = context
        self.serverName = serverName
        ErrorQueue.clear()
        unsafe ssl = SSL_new(context.pointer)!
        unsafe input = BIO_new(BIO_s_mem())!
        unsafe output = BIO_new(BIO_s_mem())!
        unsafe SSL_set_bio(ssl, input, output)
        unsafe SSL_set_ex_data(ssl, Self.ownerSlot, Unmanaged.passUnretained(self).toOpaque())
        switch context.role {
        case .server:
            unsafe SSL_set_accept_state(ssl)
        case .client:
            unsafe SSL_set_connect_state(ssl)
            if let serverName { expect(serverName) }
            unsafe context.sessions.offer(to: ssl, for: serverName)
        }
    }

    deinit {
        // A connection that broke does not spoil its session (RFC 5246 section 7.2.1), but OpenSSL would have it so.
        if isEstablished { unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }
        unsafe SSL_free(ssl)
    }

    private func expect(_ serverName: String) {
        if ServerName.isAddress(serverName) {
            let done = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName)
            precondition(done == 1, "an address is an address")
        } else {
            let name = ServerName.withoutFinalDot(serverName)
            let done = unsafe SSL_set1_host(ssl, name)
            precondition(done == 1, "OpenSSL keeps the name to be checked")
            // A name that is too long for the extension has no host either, and is checked all the same.
            unsafe shim_SSL_set_tlsext_host_name(ssl, name)
        }
        ErrorQueue.clear()
    }

    /// Takes bytes from the peer. They are read by ``handshake()`` and ``read(into:upTo:)``.
    package func receive(_ ciphertext: Span<UInt8>) {
        guard !ciphertext.isEmpty, failure == nil else { return }
        unsafe ciphertext.withUnsafeBufferPointer { bytes in
            let written = unsafe BIO_write(input, bytes.baseAddress, Int32(bytes.count))
            precondition(written == bytes.count, "a memory BIO takes everything")
        }
    }

    /// Goes on with the handshake as far as the bytes received reach; true when it is complete.
    ///
    /// With TLS 1.3 a client's handshake is complete before the server has judged the client's certificate: a refusal
    /// is thrown by the first ``read(into:upTo:)`` (RFC 8446 section 4.4.2.4).
    @discardableResult
    package func handshake() throws(TLSError) -> Bool {
        if let failure { throw failure }
        if isEstablished { return true }
        ErrorQueue.clear()
        let result = unsafe SSL_do_handshake(ssl)
        guard result == 1 else {
            let status = unsafe SSL_get_error(ssl, result)
            if status == SSL_ERROR_WANT_READ { return false }
            throw fail(status)
        }
        isEstablished = true
        if context.role == .client, !context.protocols.isEmpty, negotiatedProtocol == nil {
            close()
            let error = failed().noProtocol
            failure = error
            throw error
        }
        return true
    }

    /// The application protocol agreed upon (ALPN).
    package var negotiatedProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name = unsafe name else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// `TLSv1.2` or `TLSv1.3`.
    package var version: String {
        unsafe String(cString: SSL_get_version(ssl))
    }

    /// Whether the handshake went on from an earlier session: the server's certificate was checked in that one.
    package var isResumed: Bool {
        unsafe SSL_session_reused(ssl) == 1
    }

    package var peerCertificate: Certificate? {
        guard let certificate = unsafe SSL_get0_peer_certificate(ssl) else { return nil }
        return unsafe Certificate(certificate)
    }

    /// Appends what the peer has written, at most `limit` bytes.
    package func read(into plaintext: inout ByteQueue, upTo limit: Int = 65536) throws(TLSError) -> ReadResult {
        if let failure { throw failure }
        precondition(isEstablished && limit > 0, "reading begins after the handshake")
        if isClosed { return .closed }
        if unsafe BIO_ctrl_pending(input) == 0 && SSL_has_pending(ssl) == 0 { return .wantsInput }
        let count = unsafe plaintext.append(upTo: limit) { room in
            unsafe fill(room)
        }
        // What was read before a failure counts first: the next call tells the failure.
        if count > 0 { return .bytes(count) }
        if let failure { throw failure }
        return isClosed ? .closed : .wantsInput
    }

    private func fill(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var filled = 0
        while filled < room.count {
            ErrorQueue.clear()
            var count = 0
            let result = unsafe SSL_read_ex(ssl, room.baseAddress! + filled, room.count - filled, &count)
            if result == 1 {
                filled += count
                continue
            }
            let status = unsafe SSL_get_error(ssl, result)
            if status == SSL_ERROR_ZERO_RETURN {
                isClosed = true
            } else if status != SSL_ERROR_WANT_READ {
                _ = fail(status)
            }
            break
        }
        return filled
    }

    /// Encrypts all of it, in records of at most 16 KiB.
    package func write(_ plaintext: Span<UInt8>) throws(TLSError) {
        if let failure { throw failure }
        precondition(isEstablished, "writing begins after the handshake")
        try unsafe plaintext.withUnsafeBufferPointer { (bytes) throws(TLSError) in
            var written = 0
            while written < bytes.count {
                ErrorQueue.clear()
                var count = 0
                let result = unsafe SSL_write_ex(ssl, bytes.baseAddress! + written, bytes.count - written, &count)
                guard result == 1 else { throw fail(unsafe SSL_get_error(ssl, result)) }
                written += count
            }
        }
    }

    /// Encrypts and removes everything in `plaintext`: what was appended in many small parts leaves in full records.
    package func write(from plaintext: inout ByteQueue) throws(TLSError) {
        try plaintext.withBytes { (bytes) throws(TLSError) in try write(bytes) }
        plaintext.removeAll()
    }

    /// Tells the peer that nothing will follow: appends close_notify to the output. Reading goes on.
    package func close() {
        guard isEstablished, failure == nil else { return }
        ErrorQueue.clear()
        unsafe SSL_shutdown(ssl)
        ErrorQueue.clear()
    }

    /// Appends the ciphertext that is to be sent.
    package func drain(into ciphertext: inout ByteQueue) {
        let count = unsafe BIO_ctrl_pending(output)
        guard count > 0 else { return }
        unsafe ciphertext.append(upTo: count) { room in
            unsafe Int(BIO_read(output, room.baseAddress, Int32(room.count)))
        }
    }

    // MARK: - Failures

    private func failed() -> FailedSession {
        FailedSession(
            role: context.role, serverName: serverName, protocols: context.protocols, rejection: rejection,
            wasAskedForCertificate: wasAskedForCertificate, hasIdentity: context.hasIdentity,
            isEstablished: isEstablished)
    }

    /// Remembers and returns the failure that `status` (of `SSL_get_error`) and the error queue tell.
    private func fail(_ status: Int32) -> TLSError {
        let error = failed().error(status: status, ErrorQueue.take(favouring: ERR_LIB_SSL))
        failure = error
        // Should the offered session have been the reason, the next handshake is a full one.
        if !isEstablished { context.sessions.forget(serverName) }
        return error
    }

    // MARK: - Callbacks

    private static let ownerSlot: Int32 = 0

    /// The session that an `SSL` belongs to.
    static func of(_ ssl: OpaquePointer?) -> TLSSession? {
        guard let owner = unsafe SSL_get_ex_data(ssl, ownerSlot) else { return nil }
        return unsafe Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
    }

    func certificateRequested() {
        wasAskedForCertificate = true
    }

    /// Called by OpenSSL for each certificate of the peer's chain; the answer is whether to go on.
    static func verified(isValid: Bool, _ store: OpaquePointer?) -> Bool {
        let slot = SSL_get_ex_data_X509_STORE_CTX_idx()
        guard !isValid, let ssl = unsafe X509_STORE_CTX_get_ex_data(store, slot) else { return isValid }
        guard let session = unsafe of(OpaquePointer(ssl)) else { return false }
        if session.context.acceptsAnyCertificate { return true }
        unsafe session.rejection = CertificateRejection(store)
        return false
    }
}
