import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Commands

@Suite("An unreachable broker")
struct UnreachableBrokerTests {
    private let network = MemoryNetwork { _ in nil }

    private func connection(_ role: AMQPRole) -> AMQPConnection {
        let address = BrokerAddress(endpoint: Endpoint(host: "broker", port: 5672))
        return AMQPConnection(
            configuration: AMQPConfiguration(address: address, role: role), addresses: [address], network: network,
            random: SplitMix64(seed: 1))
    }

    @Test("ends a topology run at its timeout, with the cause")
    func topology() throws {
        let run = TopologyRun(
            TopologyPlan(try World.configuration { _ in }), control: connection(.control), at: network.now)
        var failures: [String] = []
        network.advance(by: TopologyRun.timeLimit + .seconds(1), run) {
            var isNew = false
            while case .failed(let reason)? = run.nextEvent() {
                failures.append(reason)
                isNew = true
            }
            return isNew
        }
        #expect(failures.count == 1 && failures[0].contains("cannot connect to broker:5672"))
        #expect(run.isFinished && run.nextDeadline == nil)
        #expect(network.attempts > 1)
    }

    @Test("ends a load run at its timeout as a failure, because nothing was published")
    func load() {
        let run = LoadRun(
            settings: LoadRun.Settings(queue: "push.requests", count: 10, rate: nil),
            plan: LoadPlan(run: "run", topic: "a", mix: .accepted, bodySize: 0),
            replies: ReplyQueue(name: "replies", prefetch: 10, at: network.now, connect: connection), at: network.now)
        network.advance(by: .seconds(31), run)
        guard case .failed(let message) = run.end else {
            Issue.record("\(String(describing: run.end))")
            return
        }
        #expect(message.contains("cannot connect to broker:5672"))
        #expect(run.isFinished)
    }
}
