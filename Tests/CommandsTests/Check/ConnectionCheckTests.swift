import AMQP
import Core
import SimulatedWorld
import Simulator
import System
import TestSupport
import Testing

@testable import Commands
@testable import Configuration

@Suite("ConnectionCheck")
struct ConnectionCheckTests {
    private let world: World

    init() throws {
        world = try Self.worldWithQueues()
    }

    /// Runs a check to its end, within a time limit.
    private func reports(_ world: World, within limit: Duration = .seconds(120)) -> [ConnectionCheck.Place] {
        let check = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        #expect(world.finish(check, within: limit))
        #expect(check.progress.done == check.progress.of)
        return check.places
    }

    private static func worldWithQueues(_ configure: (inout Configuration) -> Void = { _ in }) throws -> World {
        let world = try World(declares: [], configure: configure)
        for case .declareQueue(let queue) in TopologyPlan(world.configuration).steps.map(\.declaration) {
            world.broker.declare(queue.name, arguments: queue.arguments)
        }
        return world
    }

    @Test("A correct setup has no findings, sends nothing to a device, and leaves nothing in a queue")
    func fine() {
        let reports = reports(world)
        #expect(reports.map(\.peer) == [.broker, .apns, .apns])
        let findings = reports.flatMap(\.findings)
        #expect(findings.allSatisfy { !$0.severity.isError && $0.severity != .warning }, "\(findings)")
        #expect(findings.contains { $0.subject == "consuming push.requests" && $0.severity == .ok })
        #expect(findings.contains { $0.subject == "credential" && $0.severity == .ok })
        #expect(findings.contains { $0.subject == "version" && $0.text.hasPrefix("Memory 3.10.0") })
        #expect(world.ledger.records.allSatisfy { $0.deviceToken.isEmpty })
        #expect(world.broker.queues.values.allSatisfy { $0.messages.isEmpty && $0.consumerCount == 0 })
        #expect(world.broker.violations.isEmpty)
        world.broker.holdsConfirms = true
        let check = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        #expect(!world.finish(check, within: .seconds(10)))
        #expect(world.broker.engines.flatMap(\.heldConfirms).count == 1, "one message is enough")
        #expect(world.finish(check) && check.places[0].findings.last?.text == BrokerProgress.silence)
    }

    @Test("A missing queue is reported, and is not created")
    func missing() {
        world.broker.delete("push.requests.retry.30s")
        for _ in 0..<2 {
            let findings = reports(world)[0].findings.filter { $0.severity.isError || $0.subject == "login" }
            #expect(findings.map(\.subject) == ["login", "queue push.requests.retry.30s"])
            #expect(findings.last?.text == "missing")
            #expect(world.broker.queues["push.requests.retry.30s"] == nil)
        }
    }

    @Test("A queue with other arguments is reported in the broker's words, and stays as it is")
    func different() throws {
        world.broker.delete("push.dead")
        world.broker.declare("push.dead", arguments: ["x-max-length": .int32(10)])
        let findings = reports(world)[0].findings
        let different = try #require(findings.first { $0.subject == "queue push.dead" })
        #expect(different.severity == .warning && different.text.contains("406 PRECONDITION_FAILED"), "\(different)")
        #expect(world.broker.queues["push.dead"]?.arguments == ["x-max-length": .int32(10)])
        // The rest is compared on a new channel.
        #expect(findings.contains { $0.subject == "queue push.requests" && $0.text.hasPrefix("as planned") })
        #expect(world.broker.violations.isEmpty)
    }

    @Test("A peer that refuses connections is unreachable, and the rest is checked all the same")
    func refused() {
        world.isBrokerDown = true
        let withoutBroker = reports(world)
        #expect(withoutBroker[0].findings.map(\.severity) == [.unreachable])
        #expect(withoutBroker[1].findings.contains { $0.subject == "answer" && $0.severity == .ok })

        world.isBrokerDown = false
        world.isAPNsDown = true
        let withoutAPNs = reports(world)
        #expect(withoutAPNs[0].findings.allSatisfy { !$0.severity.isError })
        #expect(withoutAPNs[1].findings.map(\.severity) == [.unreachable])
        #expect(withoutAPNs[2].findings.map(\.severity) == [.warning], "it is needed for channels only")
        #expect(withoutAPNs[2].findings.first?.hint?.contains("required only for channels") == true)
    }

    @Test("A silent peer is given up, a broker within three seconds")
    func silent() throws {
        let silence = MemoryNetwork.Faults(silence: 1)
        world.network.faults[World.broker] = silence
        #expect(reports(world, within: .seconds(3))[0].findings.map(\.severity) == [.unreachable])
        world.network.faults[World.apns] = silence
        let reports = reports(world)
        #expect(reports[1].findings.map(\.severity) == [.unreachable], "\(reports[1])")
        #expect(reports[2].findings.map(\.severity) == [.warning], "\(reports[2])")
        world.network.faults[World.apns] = nil
        try world.setScript("operation list: silence")
        let unanswered = self.reports(world, within: .seconds(11))[2].findings.last
        #expect(unanswered?.subject == "connection", "only its response is missing")
    }

    @Test("A proxy that refuses is wrong, one that cannot reach APNs makes it unreachable")
    func proxy() throws {
        let endpoint = Endpoint(host: "proxy", port: 3128)
        let world = try Self.worldWithQueues { $0.apns.proxy = ProxyAddress(endpoint: endpoint) }
        #expect(reports(world)[1].findings.map(\.severity) == [.unreachable])
        for (status, text) in [(407, "requires a user"), (403, "does not permit"), (405, "does not open a tunnel")] {
            world.network.openTunnel = { _, _ in ("HTTP/1.1 \(status) No", nil) }
            let finding = try #require(reports(world)[1].findings.first)
            #expect(finding.severity == .wrong && finding.text.contains(text), "\(finding)")
            #expect(finding.text.hasSuffix("(HTTP \(status) No)"))
        }
    }

    @Test("A slow broker is named within three seconds, and checked all the same")
    func slow() {
        world.network.latency = .milliseconds(900)
        let check = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        #expect(!world.finish(check, within: .seconds(3)))
        #expect(check.trouble(at: world.moment.instant) == BrokerProgress.silence)
        #expect(world.finish(check) && check.places[0].findings.allSatisfy { !$0.severity.isError })
    }

    @Test("A broker that refuses messages is a warning")
    func blocked() {
        world.broker.setAlarm(true)
        let findings = reports(world)[0].findings
        #expect(findings.contains { $0.subject == "publishing" && $0.severity == .warning }, "\(findings)")
    }

    @Test("An APNs that allows no stream is a warning, a topic that is too long or an unreadable key an error")
    func noStreams() throws {
        try world.setScript("connect: settings streams=0")
        let findings = reports(world)[1].findings
        #expect(findings.contains { $0.subject == "answer" && $0.severity == .warning }, "\(findings)")
        let large = try Self.worldWithQueues { $0.apps[0].topic = String(repeating: "a", count: 16_000) }
        let wrong = reports(large, within: .seconds(10))[1].findings
        #expect(wrong.contains { $0.subject == "answer" && $0.severity == .wrong }, "\(wrong)")
        let lost = Configuration.Credential.token(keyFile: "/none.p8", keyID: "A", teamID: "T")
        let keyless = try Self.worldWithQueues { $0.apps[0].credential = lost }
        #expect(reports(keyless)[1].findings.map(\.subject) == ["credential"])
    }

    @Test("A clock that is two hours ahead is detected by the provider token")
    func clock() {
        world.clockError = .seconds(7200)
        let findings = reports(world).flatMap(\.findings)
        #expect(findings.contains { $0.subject == "credential" && $0.severity == .wrong }, "\(findings)")
    }

    @Test("Many apps are checked a few at a time, and all of them")
    func many() throws {
        let world = try Self.worldWithQueues { configuration in
            let app = configuration.apps[0]
            configuration.apps = (0..<30).map { number in
                var app = app
                app.topic = "com.example.app\(number)"
                if case .token(let keyFile, let keyID, _) = app.credential {
                    app.credential = .token(keyFile: keyFile, keyID: keyID, teamID: "TEAM\(100_000 + number)")
                }
                return app
            }
        }
        let check = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        #expect(world.network.attempts == 8, "the others wait")
        #expect(world.finish(check) && check.places.count == 1 + 1 + 30)
        #expect(check.places.allSatisfy { !$0.findings.isEmpty })
        let interrupted = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        interrupted.stop(at: world.moment)
        #expect(interrupted.isFinished && interrupted.places.allSatisfy { $0.findings.map(\.text) == ["stopped"] })
        #expect(!world.network.links.contains { $0.endpoint == World.broker })
        let late = ConnectionCheck(world.configuration, network: world.network, seed: 1, at: world.moment)
        late.step(at: Moment(instant: world.moment.instant + .seconds(3600), wall: world.moment.wall))
        #expect(late.places[1].findings.map(\.text) == ["no response in time"])
    }
}
