import COpenSSL
package import Core
import Glibc

/// One TLS connection without a socket: ciphertext in and out on one side, plaintext on the other.
///
/// The owner calls ``receive(_:)`` for received bytes, ``handshake()`` until it returns true, then
/// ``read(into:upTo:)`` until it needs input. It always sends the output of ``drain(into:)``, which after an error
/// contains the alert for the peer. Once a call has failed, every later one fails the same way.
///
/// A value with one owner, so that the compiler proves that no two calls overlap. OpenSSL knows it during a call only.
@safe
package struct TLSSession: ~Copyable {
    package enum ReadResult: Equatable, Sendable {
        /// The number of appended bytes, at least one; there may be more.
        case bytes(Int)
        /// All received bytes were read.
        case wantsInput
        /// The peer has sent close_notify and will not send more (RFC 8446 section 6.1).
        case closed
    }

    package let context: TLSContext

    /// The server's expected name or address.
    let serverName: String?

    private let ssl: OpaquePointer

    // Both belong to `ssl`.
    private let input: OpaquePointer
    private let sink: OpaquePointer

    /// What OpenSSL has written and ``drain(into:)`` has not taken.
    private var output = ByteQueue()

    package private(set) var isEstablished = false
    private var isClosed = false
    private var failure: TLSError?
    private(set) var rejection: TLSError?
    /// Whether the server has requested a client certificate.
    var wasAskedForCertificate = false

    /// - Parameter serverName: for a client, the host that the server's certificate must contain. It is a DNS name
    ///   (also sent, RFC 6066 section 3) or an IP address (not sent). Without it only the chain is checked.
    package init(context: TLSContext, serverName: String?) {
        precondition(serverName?.isEmpty != true, "an empty name means no name")
        self.context = context
        self.serverName = serverName
        ErrorQueue.clear()
        unsafe ssl = SSL_new(context.pointer)!
        unsafe input = BIO_new(BIO_s_mem())!
        unsafe sink = shim_BIO_new_sink(Self.written)!
        unsafe SSL_set_bio(ssl, input, sink)
        switch context.role {
        case .server:
            unsafe SSL_set_accept_state(ssl)
        case .client:
            unsafe SSL_set_connect_state(ssl)
            if let serverName { expect(serverName) }
        }
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    private func expect(_ serverName: String) {
        var address = in6_addr()
        if unsafe inet_pton(AF_INET, serverName, &address) == 1 || inet_pton(AF_INET6, serverName, &address) == 1 {
            let done = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName)
            precondition(done == 1, "OpenSSL must accept what inet_pton accepts")
        } else {
            // Certificates and the server name extension have no final dot (RFC 6066 section 3).
            let name = serverName.hasSuffix(".") ? String(serverName.dropLast()) : serverName
            let done = unsafe SSL_set1_host(ssl, name)
            precondition(done == 1, "OpenSSL keeps the name to be checked")
            // A name that is too long for the extension cannot belong to a host, and is still checked.
            unsafe shim_SSL_set_tlsext_host_name(ssl, name)
        }
        ErrorQueue.clear()
    }

    /// Receives bytes from the peer; ``handshake()`` and ``read(into:upTo:)`` process them.
    package mutating func receive(_ ciphertext: Span<UInt8>) {
        guard !ciphertext.isEmpty, failure == nil else { return }
        unsafe ciphertext.withUnsafeBufferPointer { bytes in
            let written = unsafe BIO_write(input, bytes.baseAddress, Int32(bytes.count))
            precondition(written == bytes.count, "a memory BIO must accept all bytes")
        }
    }

    /// Continues the handshake with the received bytes; true when it is complete.
    ///
    /// With TLS 1.3 a client's handshake is complete before the server has checked the client's certificate. The first
    /// ``read(into:upTo:)`` throws if it is refused (RFC 8446 section 4.4.2.4).
    @discardableResult
    package mutating func handshake() throws(TLSError) -> Bool {
        if let failure { throw failure }
        if isEstablished { return true }
        let status = unsafe call { ssl in unsafe SSL_do_handshake(ssl) }
        if status == SSL_ERROR_WANT_READ { return false }
        guard status == SSL_ERROR_NONE else { throw fail(status) }
        isEstablished = true
        // Some versions of OpenSSL accept a protocol that was not offered.
        let isAgreed = negotiatedProtocol.map(context.protocols.contains) ?? context.protocols.isEmpty
        if context.role == .client, !isAgreed {
            close()
            failure = noProtocol
            throw noProtocol
        }
        return true
    }

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

    /// `nil` until the handshake is complete.
    package var summary: TLSSummary? {
        guard isEstablished else { return nil }
        let group = unsafe SSL_group_to_name(ssl, shim_SSL_get_negotiated_group(ssl)).map { unsafe String(cString: $0) }
        return TLSSummary(version: version, group: group, certificate: peerCertificate)
    }

    package var peerCertificate: Certificate? {
        guard let certificate = unsafe SSL_get0_peer_certificate(ssl) else { return nil }
        return unsafe Certificate(certificate)
    }

    /// Appends the decrypted data of one record, at most `limit` bytes. A record has up to 16 KiB (RFC 8446 section
    /// 5.1).
    package mutating func read(
        into plaintext: inout ByteQueue, upTo limit: Int = 16 * 1024
    ) throws(TLSError) -> ReadResult {
        if let failure { throw failure }
        precondition(isEstablished && limit > 0, "reading begins after the handshake")
        if isClosed { return .closed }
        if unsafe BIO_ctrl_pending(input) == 0 && SSL_has_pending(ssl) == 0 { return .wantsInput }
        var status = SSL_ERROR_NONE
        let count = unsafe plaintext.append(upTo: limit) { room in
            var filled = 0
            status = unsafe call { ssl in unsafe SSL_read_ex(ssl, room.baseAddress!, room.count, &filled) }
            return filled
        }
        switch status {
        case SSL_ERROR_NONE: return .bytes(count)
        case SSL_ERROR_WANT_READ: return .wantsInput
        case SSL_ERROR_ZERO_RETURN:
            isClosed = true
            return .closed
        default: throw fail(status)
        }
    }

    /// Encrypts the data, in records of at most 16 KiB.
    package mutating func write(_ plaintext: Span<UInt8>) throws(TLSError) {
        if let failure { throw failure }
        precondition(isEstablished, "writing begins after the handshake")
        try unsafe plaintext.withUnsafeBufferPointer { (bytes) throws(TLSError) in
            var written = 0
            while written < bytes.count {
                var count = 0
                let status = unsafe call { ssl in
                    unsafe SSL_write_ex(ssl, bytes.baseAddress! + written, bytes.count - written, &count)
                }
                guard status == SSL_ERROR_NONE else { throw fail(status) }
                written += count
            }
        }
    }

    /// Encrypts and removes everything in `plaintext`, so that many small appends are sent in full records.
    package mutating func write(from plaintext: inout ByteQueue) throws(TLSError) {
        try plaintext.withBytes { (bytes) throws(TLSError) in try write(bytes) }
        plaintext.removeAll()
    }

    /// Appends close_notify to the output. Reading remains possible.
    package mutating func close() {
        guard isEstablished, failure == nil else { return }
        _ = unsafe call { ssl in unsafe SSL_shutdown(ssl) }
        ErrorQueue.clear()
    }

    package mutating func drain(into ciphertext: inout ByteQueue) {
        ciphertext.append(moving: &output)
    }

    // MARK: - Failures

    /// Stores and returns the failure in `status` (from `SSL_get_error`) and the error queue.
    private mutating func fail(_ status: Int32) -> TLSError {
        let error = error(status: status, ErrorQueue.take(favouring: ERR_LIB_SSL))
        failure = error
        return error
    }

    // MARK: - Callbacks

    /// Lets OpenSSL call back into this value, until `function` returns. Returns the status from `SSL_get_error`.
    private mutating func call(_ function: (OpaquePointer) -> Int32) -> Int32 {
        ErrorQueue.clear()
        let (ssl, sink) = unsafe (ssl, sink)
        return unsafe withUnsafeMutablePointer(to: &self) { session in
            unsafe BIO_set_data(sink, session)
            defer { unsafe BIO_set_data(sink, nil) }
            let result = unsafe function(ssl)
            return result == 1 ? SSL_ERROR_NONE : unsafe SSL_get_error(ssl, result)
        }
    }

    static func of(_ ssl: OpaquePointer?) -> UnsafeMutablePointer<TLSSession> {
        unsafe of(sink: SSL_get_wbio(ssl))
    }

    private static func of(sink: OpaquePointer?) -> UnsafeMutablePointer<TLSSession> {
        unsafe BIO_get_data(sink)!.assumingMemoryBound(to: TLSSession.self)
    }

    /// Called by OpenSSL for the ciphertext to send.
    private static let written: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
        sink, bytes, count in
        unsafe TLSSession.of(sink: sink).pointee.output.append(
            Span(_unsafeBytes: UnsafeRawBufferPointer(start: bytes, count: Int(count))))
        return count
    }

    /// Called by OpenSSL for each certificate of the peer's chain; returns whether to continue.
    static func verified(isValid: Bool, _ store: OpaquePointer?) -> Bool {
        let slot = SSL_get_ex_data_X509_STORE_CTX_idx()
        guard !isValid, let ssl = unsafe X509_STORE_CTX_get_ex_data(store, slot) else { return isValid }
        let session = unsafe of(OpaquePointer(ssl))
        if unsafe session.pointee.context.acceptsAnyCertificate { return true }
        unsafe session.pointee.rejection = session.pointee.rejection(of: store)
        return false
    }
}

extension TLSSession? {
    /// Whether there is a session whose handshake is complete. A class cannot read it through `!`: Swift 6.3 takes that
    /// for a consumption.
    package var isEstablished: Bool {
        switch self {
        case .some(let session): session.isEstablished
        case .none: false
        }
    }
}
