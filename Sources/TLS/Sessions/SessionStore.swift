import COpenSSL

/// A client's newest TLS session per server, for resumption.
///
/// A resumed session keeps the results of the first handshake's checks and the certificate that it presented. The
/// store belongs to one ``TLSContext``, whose trust and identity never change, and to one thread.
final class SessionStore {
    /// The maximum number of servers; a further one replaces any other.
    static let maximumServers = 32

    /// A reference to a session, released with this object.
    @safe
    private final class Session {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) {
            unsafe self.pointer = pointer
        }

        deinit {
            unsafe SSL_SESSION_free(pointer)
        }
    }

    private var sessions: [String: Session] = [:]

    /// Takes ownership of a reference.
    func keep(_ session: OpaquePointer, for serverName: String?) {
        let name = serverName ?? ""
        if sessions.count >= Self.maximumServers, sessions[name] == nil, let other = sessions.keys.first {
            sessions[other] = nil
        }
        sessions[name] = unsafe Session(session)
    }

    /// Offers the newest session, if any, in the handshake of `ssl`. If OpenSSL or the server does not accept it, the
    /// handshake is a full one.
    func offer(to ssl: OpaquePointer, for serverName: String?) {
        guard let session = sessions[serverName ?? ""] else { return }
        unsafe SSL_set_session(ssl, session.pointer)
        ErrorQueue.clear()
    }

    func forget(_ serverName: String?) {
        sessions[serverName ?? ""] = nil
    }
}
