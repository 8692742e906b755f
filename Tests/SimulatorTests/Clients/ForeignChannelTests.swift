import Core
import Glibc
import System
import TLS
import TestSupport
import Testing

@testable import Simulator

/// curl broadcasts and manages channels over real sockets, with either kind of credential.
@Suite(
    "The simulator's channels and curl", .timeLimit(.minutes(15)),
    .enabled(if: unsafe access("/usr/bin/curl", X_OK) == 0, "curl is not installed"))
struct ForeignChannelTests {
    private typealias Fixture = SimulatorServerTests.Fixture

    enum Credential: CaseIterable {
        case token, certificate
    }

    private static let channels = "/1/apps/com.example.MyApp/channels"
    private static let allChannels = "/1/apps/com.example.MyApp/all-channels"
    private static let broadcast = "/4/broadcasts/apps/com.example.MyApp"
    private static let policy = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    private static let payload = #"{"aps":{"event":"end","timestamp":1}}"#

    /// A simulator, and curl's arguments for the credential.
    private static func fixture(_ credential: Credential) throws -> (Fixture, [String]) {
        switch credential {
        case .token: return (try Fixture(), ["--header", "authorization: \(Fixture.bearer)"])
        case .certificate:
            let authority = CertificateAuthority(commonName: "Clients", now: SystemClock.now().wall)
            let folder = try TemporaryDirectory()
            try folder.write(authority.certificatePEM, to: "clients.pem")
            let fixture = try Fixture("set client-ca \(folder.file("clients.pem"))")
            let issued = authority.issueProvider(bundleID: "com.example.MyApp")
            return (
                fixture,
                [
                    "--cert", try fixture.folder.write(issued.certificatePEM, to: "client.pem"), "--key",
                    try fixture.folder.write(issued.privateKeyPEM, to: "client.key"),
                ]
            )
        }
    }

    /// curl's output: body, status and channel ID, separated by spaces.
    private static func ask(
        _ fixture: Fixture, _ credential: [String], _ method: String, _ path: String, body: String? = nil,
        _ headers: [String] = []
    ) throws -> String {
        var arguments = [
            "--silent", "--http2", "--cacert", fixture.folder.file("ca.pem"), "--max-time", "20", "--request", method,
            "--write-out", " %{http_code} %header{apns-channel-id}",
        ]
        arguments += credential + headers.flatMap { ["--header", $0] }
        if let body { arguments += ["--data", body] }
        let process = try ChildProcess(
            "/usr/bin/curl", arguments + ["https://localhost:\(fixture.server.port)\(path)"])
        try process.waitForExit()
        return process.text()
    }

    @Test("A channel is created, read, listed, sent to and deleted", arguments: Credential.allCases)
    func life(credential kind: Credential) throws {
        let (fixture, credential) = try Self.fixture(kind)
        func ask(_ method: String, _ path: String, body: String? = nil, _ headers: [String] = []) throws -> String {
            try Self.ask(fixture, credential, method, path, body: body, headers)
        }
        let created = try ask("POST", Self.channels, body: Self.policy)
        #expect(created.hasPrefix(" 201 "))
        let id = String(created.dropFirst(5))
        let channel = "apns-channel-id: \(id)"
        #expect(try ask("GET", Self.channels, [channel]) == Self.policy + " 200 ")
        #expect(try ask("GET", Self.allChannels) == #"{"channels":["\#(id)"]} 200 "#)
        let headers = [channel, "apns-push-type: liveactivity", "apns-expiration: 0", "apns-priority: 5"]
        #expect(try ask("POST", Self.broadcast, body: Self.payload, headers) == " 200 ")
        #expect(try ask("DELETE", Self.channels, [channel]) == " 204 ")
        let unknown = #"{"reason":"ChannelNotRegistered"} 400 "#
        #expect(try ask("DELETE", Self.channels, [channel]) == unknown)
        #expect(try ask("POST", Self.broadcast, body: Self.payload, headers) == unknown)
        #expect(try ask("GET", Self.allChannels) == #"{"channels":[]} 200 "#)
        #expect(fixture.server.ledger.failures.isEmpty)
    }
}
