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

    private func topology(_ hosts: [String] = ["broker"], seed: UInt64 = 1) throws -> TopologyRun {
        TopologyRun(
            TopologyPlan(try World.configuration { _ in }),
            control: network.brokerConnection(.control, hosts: hosts, seed: seed), at: network.now)
    }

    private func load(_ timeLimit: Duration = .seconds(30)) -> RequestRun {
        RequestRun(
            RequestRun.Settings(queue: "push.requests", count: 10, replies: "replies", timeLimit: timeLimit),
            LoadPlan(run: "run", topic: "a", mix: .accepted, bodySize: 0), at: network.now,
            connect: network.brokerConnection)
    }

    @Test(
        "A broker that cannot be used ends commands that do not wait for it within three seconds, with the cause",
        arguments: [(1, 0, 0), (0, 1, 0), (0, 0, 1)] as [(Double, Double, Double)])
    func unusable(refusal: Double, blackHole: Double, silence: Double) throws {
        let faults = MemoryNetwork.Faults(refusal: refusal, blackHole: blackHole, silence: silence)
        network.accept = { [broker] _ in BrokerEngine(broker: broker) }
        let deadLetters = try DeadLetterWorld()
        for network in [network, deadLetters.network] { network.faults[Endpoint(host: "broker", port: 5672)] = faults }
        let (topology, list) = (try topology(), deadLetters.run(.read { _, _ in }))
        #expect(topology.nextDeadline == network.now + BrokerProgress.patience)
        #expect(list.nextDeadline == deadLetters.network.now + BrokerProgress.patience)
        network.advance(by: .milliseconds(2400), topology)
        #expect(topology.failure == nil && (network.attempts > 1 || refusal == 0))
        network.advance(by: .milliseconds(100), topology)
        deadLetters.advance(by: .milliseconds(2500), list)
        #expect(topology.isFinished && list.isFinished)
        for failure in [topology.failure, list.failure] {
            #expect(failure?.contains("broker:5672") == true, "\(failure ?? "")")
        }
    }

    @Test("A broker whose handshake takes eight seconds is used, unless the run is stopped")
    func slow() throws {
        network.accept = { [broker] _ in BrokerEngine(broker: broker) }
        network.latency = .milliseconds(900)
        let run = try topology()
        network.advance(by: .seconds(60), run)
        #expect(run.isFinished && run.failure == nil && run.answers.allSatisfy { $0 == nil })
        #expect(run.answers.count == 10 && broker.queues.count == 10, "each step once")
        let stopped = try topology()
        stopped.stop(at: network.moment)
        #expect(stopped.failure == "stopped")
    }

    @Test("Each of several brokers has the time to respond", arguments: 1...4)
    func failover(seed: UInt64) throws {
        network.accept = { [broker] _ in BrokerEngine(broker: broker) }
        let silence = MemoryNetwork.Faults(silence: 1)
        network.faults[Endpoint(host: "silent", port: 5672)] = silence
        let run = try topology(["silent", "broker"], seed: seed)
        network.advance(by: .seconds(5), run)
        #expect(run.isFinished && run.failure == nil)
        network.faults[Endpoint(host: "broker", port: 5672)] = silence
        let other = try topology(["silent", "broker"], seed: seed)
        network.advance(by: .seconds(5), other)
        #expect(other.isFinished && other.failure != nil)
    }

    @Test("A second round of refusals counts from its own first one")
    func secondRound() {
        var progress = BrokerProgress(limit: .seconds(30), at: network.now)
        let lost = AMQPConnection.Event.disconnected(
            epoch: 1, AMQPError(.transport, "gone"), retryAt: network.now + .seconds(60))
        progress.took(lost, at: network.now)
        progress.took(.engine(.opened(ServerProperties())), at: network.now + .seconds(2))
        #expect(progress.cause == nil && progress.deadline == network.now + .seconds(30))
        progress.took(lost, at: network.now + .seconds(20))
        progress.took(lost, at: network.now + .seconds(22))
        #expect(progress.deadline == network.now + .milliseconds(22_500))
        #expect(progress.failure(at: progress.deadline) == "gone (TRANSPORT)")
    }

    @Test("A load outlasts lost connections, reports them, and ends at its time limit")
    func outlasting() {
        let run = load()
        network.advance(by: .milliseconds(3100), run)
        #expect(run.trouble(at: network.now)?.hasPrefix("the connection to broker:5672 failed") == true)
        #expect(run.end == nil)
        network.advance(by: .seconds(28), run)
        #expect(run.timeout?.contains("the connection to broker:5672 failed") == true && run.isFinished)
    }

    @Test("A load ends at its timeout if the broker hangs, or blocks, which is its cause")
    func timeout() {
        broker.declare("push.requests")
        network.accept = { [broker] _ in BrokerEngine(broker: broker) }
        let run = load(.seconds(3))
        network.advance(by: .milliseconds(100), run)
        for link in network.links { link.isFrozen = true }
        network.advance(by: .seconds(3), run)
        #expect(run.timeout != nil && !run.isFinished)
        network.advance(by: .seconds(1), run)
        #expect(run.isFinished)
        broker.setAlarm(true)
        let blocked = load(.seconds(3))
        network.advance(by: .seconds(5), blocked)
        #expect(blocked.ledger.published > 0 && !blocked.areQueued)
        #expect(blocked.timeout?.contains("the broker is blocked: low on memory") == true)
    }

    @Test("A memory alarm is told apart from silence, and goes with its end")
    func alarm() throws {
        let world = try DeadLetterWorld()
        try world.put(0..<2)
        world.broker.setAlarm(true)
        let run = world.run()
        world.advance(by: .seconds(3), run)
        #expect(run.trouble(at: world.network.now)?.contains("blocked: low on memory") == true)
        world.broker.setAlarm(false)
        world.finish(run)
        #expect(run.end == .complete && run.trouble(at: world.network.now) == nil)
    }
}
