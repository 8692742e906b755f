import Core
import TLS

/// A client and a server joined in memory, and a clock that stands still.
final class Pair {
    /// 2026-11-18T15:06:40Z
    static let now = WallTime(milliseconds: 1_795_014_400_000)
    static let day: Int64 = 86_400_000

    static let authority = CertificateAuthority(commonName: "Test authority", now: now)
    static let serverIdentity = identity(authority.issue(names: ["server.example"], usage: .server))
    static let clientIdentity = identity(authority.issue(usage: .client, commonName: "client"))

    var client: TLSSession
    var server: TLSSession

    init(_ client: TLSContext, _ server: TLSContext, serverName: String? = "server.example") {
        self.client = TLSSession(context: client, serverName: serverName)
        self.server = TLSSession(context: server, serverName: nil)
    }

    static func identity(_ issued: (certificatePEM: String, privateKeyPEM: String)) -> TLSContext.Identity {
        .pemText(certificates: issued.certificatePEM, privateKey: issued.privateKeyPEM)
    }

    static func client(
        trust: TLSContext.Trust = .pem(authority.certificatePEM), identity: TLSContext.Identity? = nil,
        protocols: [String] = ["h2"], versions: ClosedRange<TLSContext.Version> = .tls12 ... .tls13
    ) throws(TLSError) -> TLSContext {
        try TLSContext(
            role: .client, trust: trust, identity: identity, protocols: protocols, versions: versions, checkedAt: now)
    }

    static func server(
        trust: TLSContext.Trust = .none, identity: TLSContext.Identity = serverIdentity, protocols: [String] = ["h2"],
        requiresPeerCertificate: Bool = false, versions: ClosedRange<TLSContext.Version> = .tls12 ... .tls13
    ) throws(TLSError) -> TLSContext {
        try TLSContext(
            role: .server, trust: trust, identity: identity, protocols: protocols,
            requiresPeerCertificate: requiresPeerCertificate, versions: versions, checkedAt: now)
    }

    /// Exchanges the output of both sides; false when there was none.
    @discardableResult
    func exchange() -> Bool {
        let toServer = Self.carry(&client, &server)
        let toClient = Self.carry(&server, &client)
        return toServer || toClient
    }

    static func carry(_ sender: inout TLSSession, _ receiver: inout TLSSession) -> Bool {
        var wire = ByteQueue()
        sender.drain(into: &wire)
        wire.withBytes { receiver.receive($0) }
        return !wire.isEmpty
    }

    /// Runs until neither side has output; returns each side's failure.
    func connect() -> (client: TLSError?, server: TLSError?) {
        var failures: (client: TLSError?, server: TLSError?)
        repeat {
            failures = (Self.step(&client), Self.step(&server))
        } while exchange()
        return failures
    }

    private static func step(_ session: inout TLSSession) -> TLSError? {
        do throws(TLSError) {
            guard try session.handshake() else { return nil }
            var plaintext = ByteQueue()
            _ = try session.read(into: &plaintext)
            return nil
        } catch {
            return error
        }
    }

    /// A pair after its handshake.
    static func connected(
        versions: ClosedRange<TLSContext.Version> = .tls12 ... .tls13
    ) throws -> Pair {
        let pair = try Pair(client(versions: versions), server(versions: versions))
        let failures = pair.connect()
        if let failure = failures.client ?? failures.server { throw failure }
        return pair
    }
}

extension TLSSession {
    /// Everything that can be read now.
    mutating func readAll() throws(TLSError) -> [UInt8] {
        var plaintext = ByteQueue()
        while case .bytes = try read(into: &plaintext) {}
        return plaintext.copy()
    }
}
