import Core
import TLS
import Testing

@Suite
struct ClientCertificateTests {
    static let versions = HandshakeTests.versions

    @Test("a server sees the certificate of its client", arguments: versions)
    func seen(versions: ClosedRange<TLSContext.Version>) throws {
        let issued = Pair.authority.issue(usage: .client, commonName: "client", subjectUID: "com.example.app")
        let pair = try Pair(Pair.client(identity: Pair.identity(issued)), server(versions))
        #expect(pair.connect() == (nil, nil))
        #expect(pair.server.peerCertificate?.subjectUID == "com.example.app")
        #expect(pair.server.peerCertificate?.issuerCommonName == "Test authority")
    }

    @Test("a missing certificate is reported to both sides", arguments: versions)
    func missing(versions: ClosedRange<TLSContext.Version>) throws {
        let pair = try Pair(Pair.client(), server(versions))
        let failures = pair.connect()
        #expect(failures.client?.code == .clientCertificateMissing)
        #expect(
            failures.client?.message
                == "the server server.example requires a client certificate, but none is configured")
        #expect(failures.server?.code == .clientCertificateMissing)
        #expect(failures.server?.message == "the client sent no certificate")
        // With TLS 1.3 the client had finished: its first read fails.
        #expect(pair.client.isEstablished == (versions.upperBound == .tls13))
    }

    @Test("a refused certificate is reported with the server's alert", arguments: versions)
    func refused(versions: ClosedRange<TLSContext.Version>) throws {
        let past = WallTime(milliseconds: Pair.now.milliseconds - Pair.day / 2)
        let issued = Pair.authority.issue(validUntil: past, usage: .client, commonName: "client")
        let failures = try Pair(Pair.client(identity: Pair.identity(issued)), server(versions)).connect()
        #expect(failures.client?.code == .clientCertificateRefused)
        #expect(
            failures.client?.message
                == "the server server.example refused our client certificate (certificate expired): check that it is "
                + "the right one, has not expired and that the server knows its authority")
        #expect(failures.server?.code == .certificateExpired)
        #expect(
            failures.server?.message
                == "the certificate of the client expired on 2026-11-18T03:06:40Z: renew it, unless this "
                + "machine's clock is wrong")
    }

    @Test("a server with optional client certificates accepts a client without one", arguments: versions)
    func optional(versions: ClosedRange<TLSContext.Version>) throws {
        let server = try Pair.server(trust: .pem(Pair.authority.certificatePEM), versions: versions)
        let without = try Pair(Pair.client(), server)
        #expect(without.connect() == (nil, nil))
        #expect(without.server.isEstablished && without.server.peerCertificate == nil)
        let with = try Pair(Pair.client(identity: Pair.clientIdentity), server)
        #expect(with.connect() == (nil, nil))
        #expect(with.server.peerCertificate?.subjectCommonName == "client")
    }

    @Test("a server that requires certificates without a trust store accepts any certificate", arguments: versions)
    func any(versions: ClosedRange<TLSContext.Version>) throws {
        let server = try Pair.server(trust: .none, requiresPeerCertificate: true, versions: versions)
        let other = CertificateAuthority(commonName: "Other authority", now: Pair.now)
        let issued = other.issue(usage: .client, commonName: "stranger")
        let with = try Pair(Pair.client(identity: Pair.identity(issued)), server)
        #expect(with.connect() == (nil, nil))
        #expect(with.server.peerCertificate?.subjectCommonName == "stranger")
        #expect(try Pair(Pair.client(), server).connect().server?.code == .clientCertificateMissing)
    }

    @Test("a server tells its clients the names of the authorities that it trusts")
    func authorities() throws {
        let other = CertificateAuthority(commonName: "Other authority", now: Pair.now)
        let server = try Pair.server(trust: .pem(other.certificatePEM), versions: .tls12 ... .tls12)
        let pair = try Pair(Pair.client(), server)
        try pair.client.handshake()
        pair.exchange()
        try pair.server.handshake()
        var wire = ByteQueue()
        pair.server.drain(into: &wire)
        #expect(wire.copy().firstRange(of: Array("Other authority".utf8)) != nil)
    }

    private func server(_ versions: ClosedRange<TLSContext.Version>) throws(TLSError) -> TLSContext {
        try Pair.server(trust: .pem(Pair.authority.certificatePEM), requiresPeerCertificate: true, versions: versions)
    }
}
