import AMQP
import APNs
import Core
import Simulator
import TLS
import TestSupport

/// Client engines of both protocols, each with an in-memory peer; only the client is measured.
enum EngineBenchmarks {
    static let all = [deliver, publish, send]

    /// Operations in one turn of a busy loop.
    static let batch = 128
    private static let queue = "push.requests"

    private static let deliver = Benchmark("AMQP engine: deliver and ack") { meter in
        let broker = Broker()
        broker.declare(queue)
        let pair = AMQPPair(.consumer([ConsumerQueue(name: queue, prefetch: 256)]), broker, meter)
        let body = Samples.filled(Samples.envelope)
        return { operations in
            for _ in 0..<operations / batch {
                for _ in 0..<batch { try broker.put(body, properties: properties, into: queue) }
                pair.settle { event in
                    guard case .delivery(let delivery) = event else { return }
                    meter.result += delivery.body.count
                    pair.link.engine.ack(tag: delivery.tag, at: pair.network.now)
                }
            }
        }
    }

    /// The fields of a request.
    static var properties: MessageProperties {
        var properties = MessageProperties()
        properties.contentType = Array("application/json".utf8)
        properties.deliveryMode = 2
        properties.messageID = Array("order-4711".utf8)
        properties.timestamp = 1_790_000_000
        return properties
    }

    private static let publish = Benchmark("AMQP engine: publish and confirm") { meter in
        let broker = Broker()
        broker.declare(queue)
        let pair = AMQPPair(.publisher, broker, meter)
        var properties = MessageProperties()
        properties.contentType = Array("application/json".utf8)
        properties.messageID = Array("123e4567-e89b-12d3-a456-426655440000".utf8)
        properties.correlationID = Array("order-4711".utf8)
        properties.type = Array("harebell.result".utf8)
        properties.headers = ["harebell-outcome": .string("accepted")]
        let publication = Publication(
            routingKey: ArraySlice(queue.utf8), properties: properties,
            body: ArraySlice([UInt8](repeating: UInt8(ascii: "x"), count: 400)))
        return { operations in
            for _ in 0..<operations / batch {
                var failure: AMQPError?
                meter.measure {
                    for _ in 0..<batch {
                        do throws(AMQPError) {
                            _ = try pair.link.engine.publish(publication)
                        } catch {
                            failure = error
                        }
                    }
                }
                if let failure { throw failure }
                pair.settle { event in if case .confirmed = event { meter.result += 1 } }
            }
        }
    }

    private static let send = Benchmark("APNs engine: request and answer") { meter in
        let files = try BenchmarkFiles()
        let simulator = try files.simulator()
        let network = MemoryNetwork(start: BenchmarkFiles.start) { _ in try? simulator.makeEngine() }
        let tokens = ProviderTokenSource(key: SigningKey.generate(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let link = APNsLink(
            try APNsEngine(
                configuration: APNsEngine.Configuration(endpoint: BenchmarkFiles.apns, usesProviderToken: true),
                tls: files.clientContext()))
        network.connect(MeteredEngine(link, meter), to: BenchmarkFiles.apns, timeout: .seconds(5))
        let token = tokens.token(at: network.moment)
        let payload = Samples.filled(Samples.payload)
        let topic = ArraySlice("com.example.app".utf8)
        guard let device = DeviceToken(Samples.token) else { preconditionFailure("this is a device token") }
        let notification = Notification(
            target: .device(device),
            Notification.Content(pushType: .alert, priority: .immediate, payload: payload[...]))
        func settle() {
            network.settle {
                var isBusy = false
                meter.measure {
                    while let event = link.engine.nextEvent() {
                        isBusy = true
                        if case .responded(_, let response) = event { meter.result += Int(response.status) }
                    }
                }
                return isBusy
            }
        }
        settle()
        var number: UInt32 = 0
        func submit(_ count: Int) throws {
            var failure: APNsError?
            meter.measure {
                for _ in 0..<count {
                    number += 1
                    let request = APNsRequest(
                        notification, topic: topic, id: NotificationID(high: 1, low: UInt64(number)))
                    do throws(APNsError) {
                        try link.engine.submit(request, handle: Handle(number), authorization: token, at: network.now)
                    } catch {
                        failure = error
                    }
                }
            }
            if let failure { throw failure }
            settle()
        }
        // The first request alone: there is one stream until APNs has accepted the provider token.
        try submit(1)
        return { operations in
            for _ in 0..<operations / batch { try submit(batch) }
        }
    }
}

/// A client engine and an in-memory broker.
private final class AMQPPair {
    let link: AMQPLink
    let network: MemoryNetwork
    private let meter: Meter

    init(_ role: AMQPRole, _ broker: Broker, _ meter: Meter) {
        self.meter = meter
        let address = BrokerAddress(endpoint: BenchmarkFiles.broker)
        link = AMQPLink(AMQPEngine(configuration: AMQPConfiguration(address: address, role: role), epoch: 1))
        network = MemoryNetwork { _ in BrokerEngine(broker: broker) }
        network.connect(MeteredEngine(link, meter), to: address.endpoint, timeout: .seconds(5))
        settle { _ in }
    }

    func settle(_ take: (AMQPEngine.Event) -> Void) {
        network.settle {
            var isBusy = false
            meter.measure {
                while let event = link.engine.nextEvent() {
                    isBusy = true
                    take(event)
                }
            }
            return isBusy
        }
    }
}
