import Core
import Glibc
import System
import TLS
import TestSupport
import Testing

@testable import Simulator

/// curl presents a certificate over real sockets.
@Suite(
    "The simulator and curl with a certificate", .timeLimit(.minutes(15)),
    .enabled(if: unsafe access("/usr/bin/curl", X_OK) == 0, "curl is not installed"))
struct ClientCertificateServerTests {
    private typealias Fixture = SimulatorServerTests.Fixture

    private let now = SystemClock.now().wall
    private let authority: CertificateAuthority

    init() {
        authority = CertificateAuthority(commonName: "Clients", now: now)
    }

    /// A simulator with the client authority, as `set client-ca` configures it.
    private func fixture() throws -> Fixture {
        let folder = try TemporaryDirectory()
        try folder.write(authority.certificatePEM, to: "clients.pem")
        return try Fixture("set client-ca \(folder.file("clients.pem"))")
    }

    /// curl's output with a certificate and without a token: one line, and its exit status.
    private func post(
        _ fixture: Fixture, _ issued: (certificatePEM: String, privateKeyPEM: String)
    ) throws -> [String] {
        try fixture.curl(
            ["00fc"], [],
            [
                "--cert", fixture.folder.write(issued.certificatePEM, to: "client.pem"), "--key",
                fixture.folder.write(issued.privateKeyPEM, to: "client.key"),
            ])
    }

    @Test("A certificate for the topic suffices, one for another topic does not")
    func topics() throws {
        let fixture = try fixture()
        #expect(try post(fixture, authority.issueProvider(bundleID: "com.example.MyApp")) == [" 200 2"])
        #expect(
            try post(fixture, authority.issueProvider(bundleID: "com.example.Other"))
                == ["{\"reason\":\"TopicDisallowed\"} 400 2"])
        #expect(
            try post(fixture, authority.issueProvider(bundleID: "com.example.MyApp", environments: [.development]))
                == ["{\"reason\":\"BadCertificateEnvironment\"} 403 2"])
        #expect(fixture.server.ledger.failures.isEmpty)
    }

    @Test("On the same port a provider token is still valid")
    func token() throws {
        let fixture = try fixture()
        #expect(try fixture.curl(["00fc"]) == [" 200 2"])
        #expect(try fixture.curl(["00fc"], []) == ["{\"reason\":\"MissingProviderToken\"} 403 2"])
    }

    @Test("An expired certificate, or one of another authority, ends the handshake")
    func refused() throws {
        let fixture = try fixture()
        let past = WallTime(milliseconds: now.milliseconds - 3_600_000)
        #expect(
            try post(fixture, authority.issueProvider(bundleID: "com.example.MyApp", validUntil: past)) == [" 000 0"])
        let stranger = CertificateAuthority(commonName: "Strangers", now: now)
        #expect(try post(fixture, stranger.issueProvider(bundleID: "com.example.MyApp")) == [" 000 0"])
        #expect(fixture.server.ledger.statistics.requests == 0)
        #expect(fixture.server.ledger.failures.count == 2)
        #expect(fixture.server.ledger.failures.first?.contains("expired") == true)
    }
}
