import AMQP
import Core
import Foundation
import Glibc
import Runtime
import TestSupport
import Testing

/// One class of faults: the conditions of the load, the fault itself, and its permitted cost.
struct Fault {
    var name: String
    /// The simulator's script.
    var script = "token *: delay 20ms..200ms"
    /// Changes to the worker's configuration.
    var settings: (FaultScene, inout Stage.Settings) -> Void = { _, _ in }
    var load: (Stage, inout FaultRun.Load) -> Void = { _, _ in }
    /// Runs before the worker starts.
    var prepare: (FaultScene) throws -> Void = { _ in }
    /// The number of requests for each strike of the fault: a larger load gets more strikes.
    var interval = 1000
    var blow: ((FaultScene) throws -> Void)?
    var limits: (FaultScene) throws -> FaultRun.Limits = { _ in FaultRun.Limits() }
    /// Further checks at the end.
    var check: (FaultScene, Conservation) throws -> Void = { _, _ in }

    /// The number of strikes during a load of `count` requests.
    func blows(_ count: Int) -> Int {
        blow == nil ? 0 : max(1, count / interval)
    }

    /// Has a worker send a load while the fault strikes.
    func run(_ count: Int, broker: PrivateBroker) throws -> LedgerRow {
        let scene = try FaultScene(self, count, broker)
        defer { scene.end() }
        let blows = blows(count)
        for number in 0..<blows {
            try scene.run.waitUntilAccepted(Double(number + 1) / Double(blows + 2))
            try blow?(scene)
        }
        let end = try scene.run.finish()
        let row = scene.run.check(end, name, try limits(scene))
        try check(scene, end)
        return row
    }
}

/// The setup of a fault: a worker, a broker and a simulator, with a relay on both connections.
final class FaultScene {
    /// Of each of the two queues.
    static let prefetch = 100
    /// The most deliveries that the worker holds: it consumes one, then few, then all. The broker does not count a
    /// consumer's deliveries against the next one.
    static let held = 2 * (1 + Int(PrefetchRamp.few) + prefetch)

    let broker: PrivateBroker
    let stage: Stage
    let brokerRelay: FaultRelay
    let apnsRelay: FaultRelay
    let blows: Int
    // Set once, at the end of init, because it needs the other properties.
    private(set) var run: FaultRun!

    fileprivate init(_ fault: Fault, _ count: Int, _ broker: PrivateBroker) throws {
        self.broker = broker
        stage = try Stage(broker: broker.url, script: fault.script)
        let address = try BrokerAddress(broker.url)
        brokerRelay = try FaultRelay(to: address.endpoint.port)
        apnsRelay = try FaultRelay(to: stage.simulator.port)
        blows = fault.blows(count)
        var settings = Stage.Settings()
        settings.prefetch = Self.prefetch
        fault.settings(self, &settings)
        var load = FaultRun.Load(count: count)
        fault.load(stage, &load)
        for queue in stage.quorumQueues { try broker.waitUntilOnDisk(quorumQueue: queue) }
        try fault.prepare(self)
        run = try FaultRun(stage, [settings], load)
    }

    fileprivate func end() {
        brokerRelay.stop()
        apnsRelay.stop()
    }

    /// The broker's address through the relay.
    var relayedBroker: String {
        guard let end = broker.url.lastIndex(of: ":") else { return broker.url }
        return "\(broker.url[..<end]):\(brokerRelay.port)/%2f"
    }

    /// A relay swallows all bytes until the worker has tried so many new connections.
    func blackHole(_ relay: FaultRelay, connects: Int) throws {
        let before = relay.accepted
        relay.swallow(true)
        try eventually("another connection; \(run.worker.report)", within: .seconds(60)) {
            relay.accepted >= before + connects ? true : nil
        }
        relay.swallow(false)
        // Connections begun meanwhile would wait for their timeout.
        relay.reset()
    }

    /// Two seconds without publishes, counted from the worker's first blocked publish.
    ///
    /// RabbitMQ notifies only publishing connections. So the worker is frozen while the alarm is raised, which may take
    /// longer than the load, and one more request waits for it: it has a result to publish afterwards.
    func alarm() throws {
        run.worker.signal(SIGSTOP)
        let blocks = "the broker blocks publishing"
        let before = run.worker.errorLines(with: blocks)
        try run.sendOneMore {
            try broker.control("set_vm_memory_high_watermark", "0.00001")
            run.worker.signal(SIGCONT)
            try eventually("the worker's word for it; \(run.worker.report)", within: .seconds(60)) {
                run.worker.errorLines(with: blocks) > before ? true : nil
            }
            // The length of the alarm: a part of the fault, not a wait for a condition.
            Thread.sleep(forTimeInterval: 2)
            try broker.control("set_vm_memory_high_watermark", "0.3")
        }
    }

    /// Deletes and redeclares the queues at a moment when the worker holds all their messages.
    func deleteQueues() throws {
        try run.publisher.pause()
        for queue in [stage.quorumQueue, stage.classicQueue] {
            try eventually("an empty queue; \(run.worker.report)", within: .seconds(60)) {
                // A queue that does not reply in time has a count of 0, too.
                try stage.client.count(queue) == 0 && !stage.client.reject(queue, requeue: true) ? true : nil
            }
            try stage.client.ask(.deleteQueue(queue))
        }
        try stage.makeQueues()
        run.publisher.resume()
    }

    /// The delivery timeout of channels opened from now on.
    func setConsumerTimeout(_ limit: Duration) throws {
        try broker.control("eval", "application:set_env(rabbit, consumer_timeout, \(limit.components.seconds * 1000)).")
    }
}
