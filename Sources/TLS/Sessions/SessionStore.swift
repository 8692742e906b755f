import COpenSSL

/// A client's newest TLS session with each server, so that the next connection need not begin from nothing.
///
/// A resumed session keeps what the first handshake has checked, and the certificate that it has shown. It belongs to
/// one ``TLSContext``, whose trust and identity never change, and to one thread.
final class SessionStore {
    /// The most servers whose sessions are kept; a further one takes the place of any other.
    static let maximumServers = 32

    /// A reference to a session, given back when this goes.
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

    /// Takes over a reference.
    func keep(_ session: OpaquePointer, for serverName: String?) {
        let name = serverName ?? ""
        if sessions.count >= Self.maximumServers, sessions[name] == nil, let other = sessions.keys.first {
            sessions[other] = nil
        }
        sessions[name] = unsafe Session(session)
    }

    /// Has the handshake of `ssl` begin with the newest session, if there is one. One that cannot be used any more is
    /// passed over by OpenSSL, or by the server: the handshake is a full one then.
    func offer(to ssl: OpaquePointer, for serverName: String?) {
        guard let session = sessions[serverName ?? ""] else { return }
        unsafe SSL_set_session(ssl, session.pointer)
        ErrorQueue.clear()
    }

    func forget(_ serverName: String?) {
        sessions[serverName ?? ""] = nil
    }
}
