import Core
import TLS
import TestSupport
import Testing

@Suite
struct RefusalTests {
    static let versions = HandshakeTests.versions

    @Test("an expired certificate is refused with its last day", arguments: versions)
    func expired(versions: ClosedRange<TLSContext.Version>) throws {
        let past = WallTime(milliseconds: Pair.now.milliseconds - Pair.day / 2)
        let issued = Pair.authority.issue(names: ["server.example"], validUntil: past, usage: .server)
        let failures = try connect(server: Pair.server(identity: Pair.identity(issued), versions: versions))
        #expect(failures.client?.code == .certificateExpired)
        #expect(
            failures.client?.message
                == "the certificate of the server server.example expired on 2026-11-18T03:06:40Z: renew it, "
                + "unless this machine's clock is wrong")
        #expect(failures.server?.code == .serverCertificateRefused)
        #expect(failures.server?.message == "the client refused this server's certificate (certificate expired)")
    }

    @Test("a certificate of the future is refused with its first day")
    func notYetValid() throws {
        let future = WallTime(milliseconds: Pair.now.milliseconds + Pair.day)
        let issued = Pair.authority.issue(names: ["server.example"], validFrom: future, usage: .server)
        let failure = try connect(server: Pair.server(identity: Pair.identity(issued))).client
        #expect(failure?.code == .certificateNotYetValid && failure?.isTransient == true)
        #expect(
            failure?.message
                == "the certificate of the server server.example is not valid before 2026-11-19T15:06:40Z: check this "
                + "machine's clock")
    }

    @Test("a wrong host name is refused with the names of the certificate, and so is a wrong address")
    func wrongHost() throws {
        let failure = try Pair(Pair.client(), Pair.server(), serverName: "other.example").connect().client
        #expect(failure?.code == .hostnameMismatch)
        #expect(
            failure?.message
                == "the certificate of the server other.example is not for other.example: it names server.example. "
                + "Use a name that it has, or have one issued with this name as subject alternative name")
        let address = try Pair(Pair.client(), Pair.server(), serverName: "10.0.0.1").connect().client
        #expect(address?.code == .hostnameMismatch)
    }

    private static let five = "0.example, 1.example, 2.example, 3.example, 4.example"

    @Test(
        "a common name does not verify a host, and up to five of a certificate's names are listed",
        arguments: [(0, "no host at all"), (5, five), (6, "\(five) and 1 more")])
    func otherNames(count: Int, text: String) throws {
        let names = (0..<count).map { "\($0).example" }
        let issued = Pair.authority.issue(names: names, usage: .server, commonName: "server.example")
        let failure = try connect(server: Pair.server(identity: Pair.identity(issued))).client
        #expect(failure?.code == .hostnameMismatch)
        #expect(failure?.message.contains("it names \(text). Use") == true)
    }

    @Test("an unknown authority is named", arguments: versions)
    func unknownAuthority(versions: ClosedRange<TLSContext.Version>) throws {
        let other = CertificateAuthority(commonName: "Other authority", now: Pair.now)
        let failures = try connect(
            client: Pair.client(trust: .pem(other.certificatePEM)), server: Pair.server(versions: versions))
        #expect(failures.client?.code == .unknownAuthority)
        #expect(
            failures.client?.message
                == "the certificate of the server server.example comes from \"Test authority\", an authority that "
                + "is not trusted here: add the authority's certificate to the CA file if it is right")
        #expect(failures.server?.message == "the client refused this server's certificate (unknown CA)")
    }

    @Test("the system's authorities do not include a private one")
    func systemTrust() throws {
        let failure = try connect(client: Pair.client(trust: .system), server: Pair.server()).client
        #expect(failure?.code == .unknownAuthority)
        let place = "to a CA file, the file in SSL_CERT_FILE or the system's store if it is right"
        #expect(failure?.message.hasSuffix("not trusted here: add the authority's certificate \(place)") == true)
    }

    @Test("a self-signed certificate is reported as such, and accepted once it is trusted")
    func selfSigned() throws {
        let own = SelfSignedCertificate.certificatePEM
        let server = try Pair.server(
            identity: .pemText(certificates: own, privateKey: SelfSignedCertificate.privateKeyPEM))
        let failure = try connect(server: server).client
        #expect(failure?.code == .unknownAuthority)
        #expect(
            failure?.message
                == "the certificate of the server server.example is self-signed and not trusted here: add it to the CA "
                + "file if it is right")
        #expect(try connect(client: Pair.client(trust: .pem(own)), server: server) == (nil, nil))
    }

    @Test("a client's certificate is not valid for a server")
    func wrongUsage() throws {
        let issued = Pair.authority.issue(names: ["server.example"], usage: .client)
        let failure = try connect(server: Pair.server(identity: Pair.identity(issued))).client
        #expect(failure?.code == .wrongCertificateUsage)
        #expect(
            failure?.message
                == "the certificate of the server server.example is not meant for this use: its extended key usage "
                + "says otherwise")
    }

    @Test("without a trust store nothing is verified")
    func withoutTrust() throws {
        let pair = try Pair(Pair.client(trust: .none), Pair.server(), serverName: "other.example")
        #expect(pair.connect() == (nil, nil))
        #expect(pair.client.isEstablished == true)
    }

    @Test("a server without ALPN is unusable for a client that requires it", arguments: versions)
    func noALPN(versions: ClosedRange<TLSContext.Version>) throws {
        let failures = try connect(server: Pair.server(protocols: [], versions: versions))
        #expect(failures.client?.code == .noProtocol)
        #expect(
            failures.client?.message
                == "the server server.example agreed to no application protocol (offered: h2): check host and port, "
                + "and that no proxy terminates TLS")
    }

    @Test("a server refuses a client that offers other protocols only", arguments: versions)
    func otherALPN(versions: ClosedRange<TLSContext.Version>) throws {
        let failures = try connect(
            client: Pair.client(protocols: ["http/1.1"]), server: Pair.server(versions: versions))
        #expect(failures.client?.code == .noProtocol && failures.server?.code == .noProtocol)
        #expect(failures.server?.message == "the client offered no application protocol of h2")
    }

    @Test("without a common version there is no connection")
    func versionMismatch() throws {
        let failures = try connect(
            client: Pair.client(versions: .tls13 ... .tls13), server: Pair.server(versions: .tls12 ... .tls12))
        #expect(failures.client?.code == .noCommonVersion)
        #expect(failures.client?.message == "the server server.example and Harebell have no TLS version in common")
        #expect(failures.server?.code == .noCommonVersion)
    }

    /// A record with a ServerHello of version 3.2 (RFC 4346 section 7.4.1.3): random bytes, no session, one cipher.
    private static let oldHello: [UInt8] =
        [0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x13, 0]
    private static let notTLS = "does not speak TLS on this port: check the port and the scheme"

    @Test(
        "a peer with TLS 1.1 or without TLS, or that ends the handshake, is reported as such",
        arguments: [
            (oldHello, .noCommonVersion, "and Harebell have no TLS version in common"),
            ([21, 3, 3, 0, 2, 1, 0], .closedInHandshake, "closed the connection during the TLS handshake"),
            (Array("HTTP/1.1 400 Bad Request\r\n".utf8), .notTLS, notTLS),
            (Array("AMQP\0\0\u{9}\u{1}".utf8), .notTLS, notTLS),
        ] as [([UInt8], TLSError.Code, String)])
    func unusable(response: [UInt8], code: TLSError.Code, words: String) throws {
        var session = try TLSSession(context: Pair.client(), serverName: "server.example")
        #expect(try session.handshake() == false)
        session.receive(response.span)
        let failure = #expect(throws: TLSError.self) { try session.handshake() }
        #expect(failure?.code == code && failure?.message == "the server server.example \(words)")
    }

    @Test("a failure is permanent, and does not affect the next session")
    func sticky() throws {
        let failing = try Pair(Pair.client(), Pair.server(), serverName: "other.example")
        let first = failing.connect().client
        let again = #expect(throws: TLSError.self) { try failing.client.handshake() }
        #expect(again?.description == first?.description)
        #expect(try Pair.connected().client.isEstablished == true)
    }

    private func connect(
        client: TLSContext? = nil, server: TLSContext
    ) throws -> (client: TLSError?, server: TLSError?) {
        try Pair(client ?? Pair.client(), server).connect()
    }
}
