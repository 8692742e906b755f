import AMQP
import Core
import System
import TestSupport
import Testing

/// Connections over real sockets, on one loop.
final class BrokerRig: LoopOwner {
    private let loop: EventLoop
    private let network: SocketNetwork
    private var connections: [AMQPConnection] = []
    private var condition: () -> Bool = { true }
    private var deadline = Instant.distantFuture
    private var isLate = false
    private(set) var events: [[AMQPConnection.Event]] = []

    init() throws {
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: Resolver())
    }

    /// The address of the broker that the tests use.
    static func address() throws -> BrokerAddress {
        try BrokerAddress(try #require(TestEnvironment.broker))
    }

    func open(
        _ role: AMQPRole, address: BrokerAddress? = nil, _ configure: (inout AMQPConfiguration) -> Void = { _ in }
    ) throws -> AMQPConnection {
        let address = try address ?? Self.address()
        var configuration = AMQPConfiguration(address: address, role: role)
        configure(&configuration)
        let connection = AMQPConnection(configuration: configuration, addresses: [address], network: network)
        connections.append(connection)
        events.append([])
        connection.start(at: loop.now.instant)
        return connection
    }

    var now: Instant { loop.now.instant }

    /// Runs the loop until `condition` holds; fails after ten seconds.
    func run(until condition: @escaping () -> Bool) throws {
        self.condition = condition
        // Real time: the loop's clock stands still while a test does something else.
        deadline = SystemClock.now().instant + .seconds(10)
        isLate = false
        try loop.run(owner: self)
        if isLate { throw TestSupportError("nothing of that came: \(events)") }
    }

    /// The events of a connection since the last call.
    func takeEvents(of connection: AMQPConnection) -> [AMQPConnection.Event] {
        let index = connections.firstIndex { $0 === connection }!
        defer { events[index] = [] }
        return events[index]
    }

    func deliveries(of connection: AMQPConnection) -> [Delivery] {
        events[connections.firstIndex { $0 === connection }!].compactMap {
            if case .engine(.delivery(let delivery)) = $0 { delivery } else { nil }
        }
    }

    func confirmations(of connection: AMQPConnection) -> [AMQP.Confirmation] {
        events[connections.firstIndex { $0 === connection }!].compactMap {
            if case .engine(.confirmed(_, let confirmation)) = $0 { confirmation } else { nil }
        }
    }

    /// Sends requests one after the other.
    func ask(_ control: AMQPConnection, _ requests: ControlRequest...) throws -> [ControlResponse] {
        try run { control.isOpen }
        _ = takeEvents(of: control)
        for request in requests { control.request(request, at: now) }
        var replies: [ControlResponse] = []
        try run { [self] in
            for case .engine(.responded(let reply)) in takeEvents(of: control) { replies.append(reply) }
            return replies.count == requests.count
        }
        return replies
    }

    /// The error of the first failure.
    func failure(of connection: AMQPConnection) throws -> AMQPError {
        var result: AMQPError?
        try run { [self] in
            for event in takeEvents(of: connection) {
                switch event {
                case .disconnected(_, let error, _), .engine(.channelClosed(_, let error)): result = result ?? error
                default: break
                }
            }
            return result != nil
        }
        return try #require(result)
    }

    /// Closes one connection; when it returns, the broker has everything that was sent before.
    func close(_ connection: AMQPConnection) throws {
        let index = connections.firstIndex { $0 === connection }!
        connection.close(at: now)
        try run { [self] in if case .closed? = events[index].last { true } else { false } }
    }

    func close() throws {
        for connection in connections { connection.close(at: now) }
        try run { [self] in
            events.allSatisfy { if case .closed? = $0.last { true } else { false } }
        }
    }

    var nextDeadline: Instant? {
        connections.compactMap(\.nextDeadline).min().map { min($0, deadline) } ?? deadline
    }

    func expire(at now: Moment) {
        if now.instant >= deadline {
            isLate = true
            loop.stop()
        }
        for connection in connections { connection.expire(at: now.instant) }
    }

    func endTurn(at now: Moment) {
        for (index, connection) in connections.enumerated() {
            while let event = connection.nextEvent(at: now.instant) { events[index].append(event) }
        }
        if condition() { loop.stop() }
    }
}
