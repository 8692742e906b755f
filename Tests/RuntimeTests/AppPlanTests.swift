import APNs
import Core
import Logging
import Pipeline
import SimulatedWorld
import System
import TLS
import TestSupport
import Testing

@testable import Configuration
@testable import Runtime

@Suite("AppPlan")
struct AppPlanTests {
    private static let now = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 1_790_000_000_000))

    /// The files that the configurations name.
    private let world: World

    init() throws {
        world = try World()
    }

    private func newContexts(_ edit: (inout Configuration) -> Void) throws -> [Bool] {
        var configuration = world.configuration
        let before = try AppPlan(configuration)
        edit(&configuration)
        let after = try AppPlan(configuration, after: before)
        return try after.makeContexts(after: before).map { $0 != nil }
    }

    @Test("Apps of one credential share pools, and channels are managed separately")
    func shared() throws {
        let plan = try AppPlan(world.configuration)
        #expect(plan.apps.count == 2 && plan.pools.count == 2)
        #expect(plan.apps[0].pools == plan.apps[1].pools)
        #expect(plan.apps[0].pools.notifications == plan.apps[0].pools.pool(for: .channel([])))
        #expect(plan.apps[0].pools.notifications != plan.apps[0].pools.management)
        #expect(try plan.makeContexts().allSatisfy { $0 != nil })
    }

    @Test("The client certificate for the broker and its key are read from their files")
    func brokerCertificate() throws {
        let files = try TemporaryDirectory()
        let issued = CertificateAuthority(commonName: "a", now: Self.now.wall).issue(usage: .client, commonName: "b")
        var tls = Configuration.TLSFiles()
        tls.certificateFile = FilePath(try files.write(issued.certificatePEM, to: "a.pem"))
        tls.privateKeyFile = FilePath(try files.write(issued.privateKeyPEM, to: "a.key"))
        #expect(throws: Never.self) { try tls.context() }
    }

    @Test("A connection belongs to one environment, even if both have one endpoint and one key")
    func environments() {
        var apps = world.configuration.apps
        apps[1].environment = .development
        let plans = (apps + [apps[0]]).map { PoolPlan($0, world.configuration.apns) }
        #expect(!plans[0].isAlike(plans[1]) && plans[0].isAlike(plans[2]))
    }

    @Test("Only changes create new pools")
    func changes() throws {
        #expect(try newContexts { _ in } == [false, false])
        #expect(try newContexts { $0.apps.removeFirst() } == [false, false], "fewer bundle IDs are served as well")
        #expect(try newContexts { $0.apps.reverse() } == [false, false])
        #expect(try newContexts { $0.results.publish = .none } == [false, false])
        #expect(try newContexts { $0.apps[0].credential = world.otherKey } == [true, true, false, false])
        #expect(try newContexts { $0.apps[0].endpoint.port = 2197 } == [true, false, false])
        #expect(try newContexts { $0.apns.burst += 1 } == [true, true])
        #expect(try newContexts { $0.apps[0].topic = "com.example.new" } == [true, true])
    }

    @Test("A reload names the apps that it adds, changes and removes")
    func names() throws {
        func changes(_ edit: (inout Configuration) -> Void) throws -> [String: [String]] {
            var configuration = world.configuration
            let before = try AppPlan(configuration)
            edit(&configuration)
            let after = try AppPlan(configuration, after: before)
            return after.changes(after: before, with: try after.makeContexts(after: before))
        }
        let (app, other) = ("com.example.app (production)", "com.example.other (production)")
        #expect(try changes { _ in } == ["added": [], "changed": [], "removed": []])
        #expect(try changes { $0.apps.removeFirst() } == ["added": [], "changed": [], "removed": [app]])
        #expect(
            try changes { $0.apps[1].credential = world.otherKey } == ["added": [], "changed": [other], "removed": []])
        #expect(try changes { $0.apps[0].topic = "com.example.new" }["added"] == ["com.example.new (production)"])
    }

    @Test("A key is identified by its content, not its path: it keeps its provider token, a new key does not")
    func keys() throws {
        let directory = try TemporaryDirectory()
        let key = SigningKey.generate().pkcs8PEM
        var configuration = world.configuration
        configuration.apps.removeLast()
        func credential(_ name: String, _ content: String) throws -> Configuration.Credential {
            .token(keyFile: FilePath(try directory.write(content, to: name)), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        configuration.apps[0].credential = try credential("a.p8", key)
        let first = try AppPlan(configuration)
        let token = first.tokens.source(for: configuration.apps[0].credential)?.token(at: Self.now)
        configuration.apps[0].credential = try credential("b.p8", key)
        let moved = try AppPlan(configuration, after: first)
        #expect(moved.tokens.source(for: configuration.apps[0].credential)?.token(at: Self.now) == token)
        #expect(try moved.makeContexts(after: first).allSatisfy { $0 == nil })
        configuration.apps[0].credential = try credential("b.p8", SigningKey.generate().pkcs8PEM)
        let changed = try AppPlan(configuration, after: moved)
        #expect(changed.tokens.source(for: configuration.apps[0].credential)?.token(at: Self.now) != token)
        #expect(try changed.makeContexts(after: moved).allSatisfy { $0 != nil })
        // A PKCS #12 file as well, and its password, and the trusted certificates.
        let digests = try [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, 1)].map { content, password, trusted in
            let file = FilePath(try directory.write("\(content)", to: "a.p12"))
            configuration.apps[0].credential = .p12(file: file, password: Secret("\(password)"))
            configuration.apps[0].caFile = FilePath(try directory.write("\(trusted)", to: "ca.pem"))
            return try configuration.apps[0].credentialDigest()
        }
        #expect(digests.first == digests.last && Set(digests).count == 4)
    }

    @Test("An unreadable key fails the plan")
    func unreadable() throws {
        var configuration = world.configuration
        configuration.apps[0].credential = .token(keyFile: "/nowhere.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        #expect(throws: TLSError.self) { try AppPlan(configuration) }
    }

    @Test("A setting that a running process cannot change keeps its value and is named")
    func restart() throws {
        let old = world.configuration
        var new = old
        new.broker.password = Secret("renewed meanwhile")
        #expect(Reload(new, after: old).needsRestart.isEmpty)
        new.broker.heartbeat = .seconds(99)
        new.queues[0].prefetch = 99
        new.workers = 9
        new.admin = nil
        new.tracing = Configuration.Tracing(
            endpoint: Endpoint(host: "collector", port: 4318), usesTLS: false, sampleRatio: 1)
        new.log.format = .json
        let fixed = Reload(new, after: old)
        #expect(
            fixed.needsRestart.map(\.description) == ["broker", "queues", "workers", "admin", "tracing", "log.format"])
        #expect(fixed.configuration == old)
        new.log.level = .critical
        new.drainDeadline = .seconds(99)
        new.apps.removeLast()
        let changed = Reload(new, after: old).configuration
        #expect(changed.log.level == .critical && changed.drainDeadline == .seconds(99) && changed.apps.count == 1)
    }
}
