import AMQP
import Core
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    /// The topology of `docs/operate/ordering.md`: a consistent-hash exchange over queues with a single active
    /// consumer each.
    @Suite("The order of a device's notifications")
    struct OrderingTests {
        private static let devices = 30
        private static let queues = 4

        /// A broker with the exchange, and a worker configuration for its queues.
        private struct Topology {
            let broker: PrivateBroker
            let stage: Stage
            let exchange: String
            var settings = Stage.Settings()

            init(script: String) throws {
                broker = try PrivateBroker(["enabled_plugins": "[rabbitmq_consistent_hash_exchange]."])
                stage = try Stage(broker: broker.url, script: script)
                exchange = "\(stage.name).by-device"
                let queues = (0..<OrderingTests.queues).map { [exchange] in "\(exchange).\($0)" }
                settings.queues = queues
                settings.prefetch = 1
                settings.isSingleActive = true
                let file = try stage.write(settings)
                try ChildProcess.run(stage.binary, ["topology", "--config", file, "--apply"])
                try stage.client.ask(.declareExchange(exchange, type: "x-consistent-hash"))
                for queue in queues {
                    try stage.client.ask(.bindQueue(queue, exchange: exchange, routingKey: "10"))
                }
            }

            /// Request `index` is for the devices in turn, and its apns-id contains the index.
            static func message(_ index: Int, _ requests: Requests, exchange: String) -> Publication {
                let device = Requests.deviceToken(index % OrderingTests.devices)
                var message = requests.message(index, to: device)
                let digits = String(index, radix: 16)
                let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
                message.exchange = ArraySlice(exchange.utf8)
                message.body = ArraySlice(
                    """
                    {"device-token":"\(device)","apns-topic":"\(Requests.topic)","apns-id":"\(id)",\
                    "payload":{"aps":{"badge":\(index)}}}
                    """.utf8)
                return message
            }

            /// The request numbers of each device, in the order in which APNs received them.
            var arrivals: [[Int]] {
                var arrivals = Array(repeating: [Int](), count: OrderingTests.devices)
                for record in stage.simulator.ledger.records.sorted(by: { $0.receivedAt < $1.receivedAt }) {
                    guard let index = Int(record.apnsID.description.suffix(12), radix: 16) else { continue }
                    arrivals[index % OrderingTests.devices].append(index)
                }
                return arrivals
            }
        }

        /// Sends a load to two workers and stops the first one halfway, which is the active consumer of all queues.
        private static func exchange(_ count: Int, over topology: Topology, end: (ChildProcess) throws -> Void) throws {
            let (stage, exchange, requests) = (topology.stage, topology.exchange, topology.stage.requests)
            let workers = try (0..<2).map { _ in try stage.start(topology.settings) }
            let publisher = try LoadPublisher(stage.url, count: count, rate: 1000) {
                Topology.message($0, requests, exchange: exchange)
            }
            try eventually("half accepted; \(workers[0].report)", within: .seconds(60)) {
                stage.simulator.ledger.statistics.accepted >= count / 2 ? true : nil
            }
            try end(workers[0])
            let repeated = try publisher.finish()
            #expect(repeated.isEmpty, "the publisher's own order")
            try stage.collect(0..<count, within: .seconds(120), worker: workers[1])
            try workers[1].end()
            for (device, arrivals) in topology.arrivals.enumerated() {
                #expect(Set(arrivals) == Set(stride(from: device, to: count, by: Self.devices)))
                // Redelivered requests arrive before newer ones.
                #expect(arrivals == arrivals.sorted(), "device \(device)")
            }
        }

        @Test("is that of their requests through refused streams, lost connections and the death of the worker")
        func kept() throws {
            let topology = try Topology(
                script: "every 20 requests: rst REFUSED_STREAM\nevery 90 requests: cut\ntoken *: delay 2ms..20ms")
            try Self.exchange(600, over: topology) { worker in
                worker.signal(SIGKILL)
                try worker.waitForExit()
            }
            let seen = topology.stage.simulator.ledger.statistics
            #expect(seen.resets > 20 && seen.cuts > 3)
        }

        @Test("is that of their requests when a worker drains and another takes over, and none is sent twice")
        func drained() throws {
            let topology = try Topology(script: "token *: delay 2ms..20ms")
            try Self.exchange(600, over: topology) { try $0.end() }
            #expect(topology.stage.simulator.ledger.statistics.repeated == 0)
        }
    }
}
