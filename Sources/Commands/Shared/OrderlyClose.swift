import AMQP
import Core

/// Closes the connections of a command in order, for a limited time: a broker that is blocked or hangs does not answer.
struct OrderlyClose {
    private static let timeLimit = Duration.seconds(1)

    private let connections: [AMQPConnection]
    let deadline: Instant

    init(_ connections: [AMQPConnection], at now: Instant) {
        self.connections = connections
        deadline = now + Self.timeLimit
        for connection in connections { connection.close(at: now) }
    }

    /// Takes the remaining events.
    ///
    /// - Returns: whether all connections are closed, or given up.
    func isOver(at now: Instant) -> Bool {
        for connection in connections { while connection.nextEvent(at: now) != nil {} }
        return now >= deadline || connections.allSatisfy(\.isClosed)
    }
}
