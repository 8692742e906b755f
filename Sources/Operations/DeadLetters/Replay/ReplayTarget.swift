package import Configuration

/// Where a replay sends dead letters.
package enum ReplayTarget: Sendable, Equatable {
    /// Back to the queue that each was in before, if it is one of these.
    ///
    /// A producer may have written the letter's headers, and RabbitMQ checks no permissions on the default exchange.
    /// Without this limit, a header would give access to every queue of the virtual host.
    case origin(among: Set<String>)
    /// All to the queue that an operator names.
    case queue(String)

    /// - Parameter origin: the queue that the letter was in before.
    /// - Returns: `nil` if the letter must not go anywhere.
    package func queue(from origin: String?) -> String? {
        switch self {
        case .origin(let queues): origin.flatMap { queues.contains($0) ? $0 : nil }
        case .queue(let name): name
        }
    }
}

extension ReplayTarget {
    /// Back into the request queues of a configuration.
    package init(_ configuration: Configuration) {
        self = .origin(among: Set(configuration.queues.map(\.name)))
    }
}
