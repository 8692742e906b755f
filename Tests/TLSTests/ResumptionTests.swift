import Core
import TLS
import Testing

@Suite
struct ResumptionTests {
    static let versions = HandshakeTests.versions

    @Test("the second connection resumes the session of the first", arguments: versions)
    func resumed(versions: ClosedRange<TLSContext.Version>) throws {
        let client = try Pair.client(versions: versions)
        let server = try Pair.server(versions: versions)
        let first = Pair(client, server)
        #expect(first.connect() == (nil, nil))
        #expect(!first.client.isResumed && !first.server.isResumed)
        for _ in 0..<3 {
            let next = Pair(client, server)
            #expect(next.connect() == (nil, nil))
            #expect(next.client.isResumed && next.server.isResumed)
            #expect(next.client.negotiatedProtocol == "h2")
            #expect(next.client.peerCertificate?.subjectAlternativeNames == ["server.example"])
            try next.client.write([1, 2, 3].span)
            next.exchange()
            #expect(try next.server.readAll() == [1, 2, 3])
        }
    }

    @Test("a session is offered only to the server that issued it")
    func otherName() throws {
        let issued = Pair.authority.issue(names: ["server.example", "other.example"], usage: .server)
        let client = try Pair.client()
        let server = try Pair.server(identity: Pair.identity(issued))
        #expect(Pair(client, server).connect() == (nil, nil))
        let other = Pair(client, server, serverName: "other.example")
        #expect(other.connect() == (nil, nil))
        #expect(!other.client.isResumed)
        let again = Pair(client, server)
        #expect(again.connect() == (nil, nil))
        #expect(again.client.isResumed)
    }

    @Test("another context has no sessions: its trust and identity may differ")
    func otherContext() throws {
        let server = try Pair.server()
        #expect(try Pair(Pair.client(), server).connect() == (nil, nil))
        let other = try Pair(Pair.client(), server)
        #expect(other.connect() == (nil, nil))
        #expect(!other.client.isResumed)
    }

    @Test("a server that no longer knows the ticket gets a full handshake", arguments: versions)
    func forgottenTicket(versions: ClosedRange<TLSContext.Version>) throws {
        let client = try Pair.client(versions: versions)
        #expect(try Pair(client, Pair.server(versions: versions)).connect() == (nil, nil))
        let restarted = try Pair.server(versions: versions)
        let second = Pair(client, restarted)
        #expect(second.connect() == (nil, nil))
        #expect(!second.client.isResumed)
        let third = Pair(client, restarted)
        #expect(third.connect() == (nil, nil))
        #expect(third.client.isResumed)
    }

    @Test("the session is not offered again after a failed handshake")
    func failedHandshake() throws {
        let client = try Pair.client()
        let server = try Pair.server()
        #expect(Pair(client, server).connect() == (nil, nil))
        #expect(try Pair(client, Pair.server(protocols: ["other"])).connect().client?.code == .noProtocol)
        let next = Pair(client, server)
        #expect(next.connect() == (nil, nil))
        #expect(!next.client.isResumed)
    }

    @Test("a resumed session still has the client's certificate", arguments: versions)
    func clientCertificate(versions: ClosedRange<TLSContext.Version>) throws {
        let client = try Pair.client(identity: Pair.clientIdentity, versions: versions)
        let server = try Pair.server(
            trust: .pem(Pair.authority.certificatePEM), requiresPeerCertificate: true, versions: versions)
        #expect(Pair(client, server).connect() == (nil, nil))
        let next = Pair(client, server)
        #expect(next.connect() == (nil, nil))
        #expect(next.server.isResumed)
        #expect(next.server.peerCertificate?.subjectCommonName == "client")
    }
}
