import Configuration

/// The destination of a replay.
enum ReplayTarget: Sendable, Equatable {
    /// The queue that each letter came from, if it is one of these.
    ///
    /// A producer may have written the letter's headers, and RabbitMQ checks no permissions on the default exchange.
    /// Without this limit, a header would give access to every queue of the virtual host.
    case origin(among: Set<String>)
    /// One queue for all letters, chosen by an operator.
    case queue(String)

    /// - Parameter origin: the queue that the letter came from.
    /// - Returns: `nil` if the letter must not be replayed.
    func queue(from origin: String?) -> String? {
        switch self {
        case .origin(let queues): origin.flatMap { queues.contains($0) ? $0 : nil }
        case .queue(let name): name
        }
    }
}

extension ReplayTarget {
    /// The request queues of a configuration.
    init(_ configuration: Configuration) {
        self = .origin(among: Set(configuration.queues.map(\.name)))
    }
}
