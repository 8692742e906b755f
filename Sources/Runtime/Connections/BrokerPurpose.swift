import Pipeline

/// What a worker's connection to the broker is for, as log lines and the broker's management name it.
package enum BrokerPurpose: String, Sendable {
    case consuming
    case publishing
    case directReply = "direct-reply"
    /// Tries destinations that are not open.
    case attempting
    /// Asks whether a queue is a stream.
    case inquiring
}

extension PublisherRole {
    var purpose: BrokerPurpose {
        switch self {
        case .queues: .publishing
        case .directReplies: .directReply
        case .attempts: .attempting
        }
    }
}
