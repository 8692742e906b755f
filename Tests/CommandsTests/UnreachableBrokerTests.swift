import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import AMQP
@testable import Commands

@Suite("An unreachable broker")
struct UnreachableBrokerTests {
    private let broker = Broker()
    private let network = MemoryNetwork { _ in nil }

    private func topology() throws -> TopologyRun {
        TopologyRun(
            TopologyPlan(try World.configuration { _ in }), control: network.brokerConnection(.control), at: network.now
        )
    }

    private func load(_ timeLimit: Duration = .seconds(30)) -> RequestRun {
        RequestRun(
            RequestRun.Settings(queue: "push.requests", count: 10, replies: "replies", timeLimit: timeLimit),
            LoadPlan(run: "run", topic: "a", mix: .accepted, bodySize: 0), at: network.now,
            connect: network.brokerConnection)
    }

    @Test("A refused connection ends a topology run within three seconds, with the cause")
    func refused() throws {
        let run = try topology()
        network.advance(by: .milliseconds(2900), run)
        #expect(run.failure == nil && network.attempts > 1)
        network.advance(by: .milliseconds(100), run)
        #expect(run.failure?.contains("cannot connect to broker:5672") == true)
        #expect(run.isFinished)
    }

    @Test("An address that does not answer is reported after three seconds, and ends it after its connect timeout")
    func silent() throws {
        network.faults[Endpoint(host: "broker", port: 5672)] = {
            var faults = MemoryNetwork.Faults()
            faults.blackHole = 1
            return faults
        }()
        let run = try topology()
        network.advance(by: .milliseconds(2900), run)
        #expect(run.trouble(at: network.now) == nil)
        network.advance(by: .milliseconds(100), run)
        #expect(run.trouble(at: network.now) == BrokerProgress.silence)
        network.advance(by: .milliseconds(10_100), run)
        #expect(run.failure?.contains("broker:5672") == true)
        #expect(run.isFinished)
    }

    @Test("A second round of refusals counts from its own first one")
    func secondRound() {
        var progress = BrokerProgress(limit: .seconds(30), at: network.now)
        let lost = AMQPConnection.Event.disconnected(
            epoch: 1, AMQPError(.transport, "gone"), retryAt: network.now)
        progress.took(lost, at: network.now)
        progress.took(.engine(.opened(ServerProperties())), at: network.now + .seconds(2))
        #expect(progress.cause == nil && progress.deadline == network.now + .seconds(30))
        progress.took(lost, at: network.now + .seconds(20))
        progress.took(lost, at: network.now + .seconds(22))
        #expect(progress.deadline == network.now + .seconds(23))
        #expect(progress.failure(at: network.now + .seconds(23)) == "gone (TRANSPORT)")
    }

    @Test("A load outlasts lost connections, reports them, and ends at its time limit")
    func outlasting() {
        let run = load()
        network.advance(by: .milliseconds(3100), run)
        #expect(run.trouble(at: network.now)?.contains("cannot connect to broker:5672") == true)
        #expect(run.end == nil)
        network.advance(by: .seconds(28), run)
        #expect(run.timeout?.contains("cannot connect to broker:5672") == true)
        #expect(run.isFinished)
    }

    @Test("A load ends at its timeout if the broker hangs")
    func timeout() {
        broker.declare("push.requests")
        network.accept = { [broker] _ in BrokerEngine(broker: broker) }
        let run = load(.seconds(3))
        network.advance(by: .milliseconds(100), run)
        for link in network.links { link.isFrozen = true }
        network.advance(by: .seconds(3), run)
        #expect(run.timeout != nil)
        network.advance(by: .seconds(1), run)
        #expect(run.isFinished)
    }

    @Test("A memory alarm is told apart from silence, and goes with its end")
    func alarm() {
        var progress = BrokerProgress(limit: .seconds(30), at: network.now)
        progress.took(.engine(.opened(ServerProperties())), at: network.now)
        for _ in 0..<2 {
            progress.took(.engine(.blocked("low on memory")), at: network.now)
            #expect(progress.trouble(at: network.now + .seconds(3))?.contains("blocked: low on memory") == true)
            progress.took(.engine(.unblocked), at: network.now)
            #expect(progress.trouble(at: network.now + .seconds(3)) == nil)
        }
    }
}
