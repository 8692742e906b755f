import Core
import Testing

@testable import TLS

@Suite
struct HandshakeTests {
    static let versions: [ClosedRange<TLSContext.Version>] = [.tls12 ... .tls12, .tls13 ... .tls13]

    @Test("client and server agree on a version, a protocol and each other's name", arguments: versions)
    func agreement(versions: ClosedRange<TLSContext.Version>) throws {
        let pair = try Pair.connected(versions: versions)
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        #expect(pair.client.negotiatedProtocol == "h2" && pair.server.negotiatedProtocol == "h2")
        #expect(pair.client.version == (versions.upperBound == .tls12 ? "TLSv1.2" : "TLSv1.3"))
        // OpenSSL 3.5 prefers the hybrid of it.
        #expect(["x25519", "X25519MLKEM768"].contains(pair.client.summary?.group))
        #expect(pair.client.peerCertificate?.subjectAlternativeNames == ["server.example"])
        #expect(pair.server.peerCertificate == nil)
    }

    @Test("without protocols on either side none is selected")
    func withoutProtocols() throws {
        let pair = try Pair(Pair.client(protocols: []), Pair.server())
        #expect(pair.connect() == (nil, nil))
        #expect(pair.client.isEstablished && pair.client.negotiatedProtocol == nil)
        #expect(pair.server.negotiatedProtocol == nil)
    }

    @Test("the server's order of protocols decides")
    func preference() throws {
        let pair = try Pair(Pair.client(protocols: ["http/1.1", "h2"]), Pair.server(protocols: ["h2", "http/1.1"]))
        #expect(pair.connect() == (nil, nil))
        #expect(pair.client.negotiatedProtocol == "h2")
    }

    @Test("a handshake may be split at every byte, in both directions", arguments: versions)
    func everyCut(versions: ClosedRange<TLSContext.Version>) throws {
        let server = try Pair.server(versions: versions)
        var cut = 1
        var length = Int.max
        while cut < length {
            // A separate context has no session that would shorten the handshake.
            let pair = try Pair(Pair.client(versions: versions), server)
            length = try pair.handshake(cutAt: cut)
            try #require(pair.client.isEstablished && pair.server.isEstablished, "cut at \(cut)")
            cut += 1
        }
        #expect(length > 500)
    }

    @Test("an address is verified against the certificate's addresses", arguments: ["127.0.0.1", "::1"])
    func addresses(address: String) throws {
        let issued = Pair.authority.issue(names: ["localhost"], addresses: ["127.0.0.1", "::1"], usage: .server)
        let server = try Pair.server(identity: Pair.identity(issued))
        let pair = try Pair(Pair.client(), server, serverName: address)
        #expect(pair.connect() == (nil, nil))
        #expect(pair.client.isEstablished == true)
        #expect(pair.client.peerCertificate?.subjectAlternativeNames == ["localhost", "127.0.0.1", "::1"])
    }

    @Test("a wildcard matches one label, and a final dot does not matter")
    func wildcard() throws {
        let issued = Pair.authority.issue(names: ["*.push.example"], usage: .server)
        let server = try Pair.server(identity: Pair.identity(issued))
        // The last name is too long for the extension, but is still checked.
        for (name, isRight) in [
            ("api.push.example", true), ("api.push.example.", true), ("a.b.push.example", false),
            (String(repeating: "a.", count: 150) + "push.example", false),
        ] {
            let failure = try Pair(Pair.client(), server, serverName: name).connect().client
            #expect(failure?.code == (isRight ? nil : .hostnameMismatch))
        }
    }

    @Test(
        "a client names its server, but not an address, and offers no session ticket: sessions are not resumed",
        arguments: ["server.example", "10.1.2.3", "2001:db8::7"])
    func noTicket(name: String) throws {
        var session = try TLSSession(context: Pair.client(), serverName: name)
        try session.handshake()
        var hello = ByteQueue()
        session.drain(into: &hello)
        // The extension session_ticket, empty (RFC 5077, section 3.2).
        #expect(hello.copy().firstRange(of: [0, 35, 0, 0]) == nil)
        #expect((hello.copy().firstRange(of: Array(name.utf8)) != nil) == (name == "server.example"))
    }

    @Test("a chain with an intermediate authority is accepted, even if another authority has the root's name")
    func intermediate() throws {
        let middle = CertificateAuthority(commonName: "Intermediate", now: Pair.now, issuer: Pair.authority)
        let issued = middle.issue(names: ["server.example"], usage: .server)
        let chain = issued.certificatePEM + middle.certificatePEM
        let server = try Pair.server(identity: .pemText(certificates: chain, privateKey: issued.privateKeyPEM))
        let twin = CertificateAuthority(commonName: "Test authority", now: Pair.now)
        for trusted in [twin.certificatePEM + Pair.authority.certificatePEM, middle.certificatePEM] {
            let pair = try Pair(Pair.client(trust: .pem(trusted)), server)
            #expect(pair.connect() == (nil, nil))
        }
    }
}

extension Pair {
    /// A handshake in which each direction's bytes arrive in two parts, with a step between. Returns the byte count of
    /// the larger direction.
    fileprivate func handshake(cutAt cut: Int) throws -> Int {
        var (toServer, toClient) = (0, 0)
        var before = -1
        while toServer + toClient > before {
            before = toServer + toClient
            toServer += try Self.step(from: &client, to: &server, cutAfter: cut - toServer)
            toClient += try Self.step(from: &server, to: &client, cutAfter: cut - toClient)
        }
        return max(toServer, toClient)
    }

    /// Returns the byte count of the sender's output.
    private static func step(
        from sender: inout TLSSession, to receiver: inout TLSSession, cutAfter cut: Int
    ) throws -> Int {
        try sender.handshake()
        var wire = ByteQueue()
        sender.drain(into: &wire)
        let count = wire.count
        if 0 < cut, cut < count {
            wire.withBytes { receiver.receive($0.extracting(first: cut)) }
            wire.consume(cut)
            try receiver.handshake()
        }
        wire.withBytes { receiver.receive($0) }
        try receiver.handshake()
        return count
    }
}

func == (left: (client: TLSError?, server: TLSError?), right: (TLSError?, TLSError?)) -> Bool {
    left.client?.description == right.0?.description && left.server?.description == right.1?.description
}
