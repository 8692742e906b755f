import AMQP
import Core
import TestSupport

/// A client engine and an in-memory broker, connected.
final class Pair {
    let broker: Broker
    let network: MemoryNetwork
    let link: AMQPLink
    private(set) var server: BrokerEngine!
    private(set) var events: [AMQPEngine.Event] = []

    init(
        _ role: AMQPRole, broker: Broker = Broker(), chunk: Int = .max,
        address: BrokerAddress = BrokerAddress(endpoint: Endpoint(host: "broker", port: 5672)),
        _ configure: (inout AMQPConfiguration) -> Void = { _ in }
    ) {
        self.broker = broker
        var configuration = AMQPConfiguration(address: address, role: role)
        configure(&configuration)
        link = AMQPLink(AMQPEngine(configuration: configuration, epoch: 7))
        let server = BrokerEngine(broker: broker)
        network = MemoryNetwork { _ in server }
        network.largestPiece = chunk
        self.server = server
        network.connect(link, to: address.endpoint, timeout: .seconds(5))
        settle()
    }

    var now: Instant { network.now }

    var engine: AMQPEngine {
        _read { yield link.engine }
        _modify { yield &link.engine }
    }

    func settle() {
        network.settle { take() }
    }

    func advance(by duration: Duration) {
        network.advance(by: duration, turn: take)
    }

    private func take() -> Bool {
        let before = events.count
        while let event = engine.nextEvent() { events.append(event) }
        return events.count > before
    }

    /// The events since the last call.
    func takeEvents() -> [AMQPEngine.Event] {
        defer { events.removeAll() }
        return events
    }

    func takeDeliveries() -> [Delivery] {
        takeEvents().compactMap { if case .delivery(let delivery) = $0 { delivery } else { nil } }
    }

    func takeConfirmations() -> [(UInt64, AMQP.Confirmation)] {
        takeEvents().compactMap { if case .confirmed(let sequence, let end) = $0 { (sequence, end) } else { nil } }
    }

    func takeResponses() -> [ControlResponse] {
        takeEvents().compactMap { if case .responded(let reply) = $0 { reply } else { nil } }
    }

    /// The error that ended the connection; nil while it is open or after an orderly close.
    func takeError() -> AMQPError? {
        guard case .closed(let error)? = takeEvents().last else { return nil }
        return error
    }

    @discardableResult
    func publish(_ body: [UInt8], to queue: String, messageID: String? = nil, mandatory: Bool = true) throws -> UInt64 {
        var properties = MessageProperties()
        properties.messageID = messageID.map { Array($0.utf8) }
        return try engine.publish(
            Publication(
                routingKey: Array(queue.utf8)[...], mandatory: mandatory, properties: properties, body: body[...]))
    }
}

extension [AMQPEngine.Event] {
    /// Event names in order, without adjacent repetitions.
    var names: [String] {
        var names: [String] = []
        for event in self {
            let name = String(describing: event).prefix { $0.isLetter }
            if names.last != String(name) { names.append(String(name)) }
        }
        return names
    }
}

func bytes(_ text: String) -> [UInt8] {
    Array(text.utf8)
}

/// Bytes that differ from their neighbours.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
}
