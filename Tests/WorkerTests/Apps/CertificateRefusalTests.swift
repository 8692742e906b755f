import Core
import Logging
import Pipeline
import SimulatedWorld
import System
import TLS
import TestSupport
import Testing

@testable import APNs
@testable import Commands
@testable import Configuration
@testable import Runtime

/// A certificate that APNs accepts at first and refuses later in TLS, for example because it was revoked.
@Suite("A certificate that is refused when a connection is opened")
struct CertificateRefusalTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        // Certificates are checked against the real clock, wherever they are used.
        let now = SystemClock.now().wall
        let authority = CertificateAuthority(commonName: "Clients", now: now)
        for name in ["client", "renewed"] {
            let issued = authority.issueProvider(bundleID: "com.example.app")
            try folder.write(issued.certificatePEM, to: "\(name).pem")
            try folder.write(issued.privateKeyPEM, to: "\(name).key")
        }
        try folder.write(authority.certificatePEM, to: "authority.pem")
        try folder.write(CertificateAuthority(commonName: "Others", now: now).certificatePEM, to: "others.pem")
    }

    private var taken: String { "set client-ca \(folder.file("authority.pem"))" }
    private var refused: String { "set client-ca \(folder.file("others.pem"))" }

    private func world(_ script: String) throws -> World {
        try World.started(script: script, configure: configure)
    }

    private func configure(_ configuration: inout Configuration) {
        configuration.queues[0].prefetch = 30
        configuration.apps[0].credential = credential("client")
    }

    private func credential(_ name: String) -> Configuration.Credential {
        .pem(
            certificateFile: FilePath(folder.file("\(name).pem")),
            privateKeyFile: FilePath(folder.file("\(name).key")))
    }

    @Test("Its app pauses, is reported once, loses nothing, and resumes when a connection opens")
    func revoked() throws {
        let world = try world(taken)
        try world.request(World.body(0), id: "m0")
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })

        try world.restartAPNs(refused)
        for number in 1..<4 { try world.request(World.body(number), id: "m\(number)") }
        try world.request(World.body(4, topic: "com.example.other"), id: "m4")
        world.pass(.seconds(900))
        let worker = try #require(world.worker)
        #expect(worker.paused.map(\.cause) == [.credential(RejectionReason(rawValue: "BadCertificate"))])
        #expect(worker.paused.map(\.app.topic) == ["com.example.app"] && worker.paused.map(\.held) == [3])
        #expect(world.published(in: "push.results").count == 2, "the other app has a credential of its own")
        #expect(world.published(in: "push.dead").isEmpty)
        let told = world.log.filter { $0.metadata["error.message"]?.description.contains("client certificate") == true }
        #expect(told.map(\.level) == [.error] && world.log.count { $0.message.contains("is paused") } == 1)

        try world.setScript(taken)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 5))
        #expect(worker.paused.isEmpty)
    }

    @Test("Its app pauses even without waiting requests, and not while another connection is open")
    func idle() throws {
        let world = try world(refused)
        world.pass(.seconds(5))
        #expect(world.worker?.paused.map(\.held) == [0])
        try world.setScript(taken)
        world.pass(.seconds(60))
        #expect(world.worker?.paused.isEmpty == true)
        try world.setScript(refused)
        try world.request(World.body(1), id: "m1")
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        #expect(world.worker?.paused.isEmpty == true)
    }

    @Test("A reload to a certificate that APNs accepts ends the pause of an idle app, twice")
    func reloaded() throws {
        let world = try world(taken)
        for name in ["renewed", "client"] {
            try world.restartAPNs(refused)
            world.pass(.seconds(60))
            #expect(world.worker?.paused.map(\.held) == [0])
            try world.setScript(taken)
            try world.reload { $0.apps[0].credential = credential(name) }
            world.pass(.seconds(1))
            #expect(world.worker?.paused.isEmpty == true)
        }
        func refusals() -> Int { world.log.count { $0.message == "APNs refuses a certificate" } }
        let before = refusals()
        try world.setScript(refused)
        try world.reload { $0.apps[0].credential = credential("renewed") }
        world.pass(.seconds(5))
        #expect(refusals() == before + 1, "a new pool with an old number logs its own refusal")
    }

    @Test("A paused app whose certificate is then refused keeps connecting")
    func pausedBefore() throws {
        let world = try world("\(taken)\ntopic com.example.app: 403 BadCertificate")
        try world.request(World.body(0), id: "m0")
        world.pass(.seconds(2))
        #expect(world.worker?.paused.map(\.held) == [1])
        try world.setScript(refused)
        world.pass(.seconds(100))
        try world.setScript(taken)
        #expect(world.pass(atMost: .seconds(35)) { world.isQuiet })
        #expect(world.worker?.paused.isEmpty == true)
        let other = try self.world("\(taken)\ntopic com.example.app: 403 BadCertificate")
        try other.request(World.body(0), id: "m0")
        other.pass(.seconds(2))
        try other.reload { $0.apps[0].credential = credential("renewed") }
        other.pass(.seconds(1))
        #expect(other.sent > 1 && !other.log.contains { $0.message.contains("resumed") })
    }

    @Test("A refusal may come after SETTINGS: the next failure is not the end of a connection")
    func refusedLate() throws {
        let world = try world(taken)
        world.pass(.seconds(1))
        world.isAPNsDown = true
        let connections = try #require(world.worker).worker.pools[PoolID(0)].connections
        try #require(connections.first).engine.fail(APNsError(.certificateRefused, "revoked"))
        world.pass(.seconds(60))
        #expect(world.log.first { $0.message.hasSuffix("trying again") }?.message.hasPrefix("cannot connect") == true)
    }

    @Test("A direct request ends as a refused one")
    func direct() throws {
        let world = try World(script: refused, configure: configure)
        let app = world.configuration.apps[0]
        let request = APNsRequest(
            Notification(.list), topic: ArraySlice(app.topic.utf8), id: NotificationID(high: 1, low: 2))
        let exchange = try OneOffExchange(
            request, for: app, world.configuration.apns, tokens: ProviderTokens([]), network: world.network,
            seed: 1, at: world.network.moment)
        world.network.advance(by: .seconds(5), exchange)
        let report = try #require(exchange.report)
        #expect(report.outcome == .rejected && report.processed == .no)
        #expect(report.reason?.rawValue == "BadCertificate")
        #expect(report.detail?.contains("client certificate") == true)
    }
}
