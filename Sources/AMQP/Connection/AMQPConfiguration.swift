import Core
package import TLS

/// What one connection is for: each is used for one thing only.
///
/// A blocked broker stops reading from publishing connections, so acks must not stand in the same queue.
/// Source: rabbitmq.com/docs/connections (flow control).
package enum AMQPRole: Sendable, Equatable {
    case consumer([ConsumerQueue])
    case publisher
    /// Declares, binds, counts and gets single messages.
    case control
}

/// A queue to consume from.
package struct ConsumerQueue: Sendable, Equatable {
    package var name: String
    /// How many deliveries the broker sends before the first is settled; at least 1.
    package var prefetch: UInt16
    /// Whether one of its consumers gets everything (`x-single-active-consumer`): who gets nothing is not stalled.
    package var isSingleActive: Bool

    package init(name: String, prefetch: UInt16, isSingleActive: Bool = false) {
        self.name = name
        self.prefetch = prefetch
        self.isSingleActive = isSingleActive
    }
}

/// How a connection is made and what it may use.
///
/// It is flat because each property is one setting or one limit, and most callers change only one of them.
package struct AMQPConfiguration {
    package var address: BrokerAddress
    package var role: AMQPRole
    /// What `amqps` is done with; needed only there.
    package var tls: TLSContext?
    /// The name in the broker's certificate, where it is not the address's host.
    package var serverName: String?
    /// Whether the password expires, so that an open connection needs each new one as well.
    package var renewsPassword = false
    /// Shown in the broker's management.
    package var connectionName = "harebell"
    package var productVersion = "0"
    /// What we ask for; the broker may lower it. Zero turns heartbeats off where the broker agrees.
    package var heartbeat = Duration.seconds(15)
    /// From the name to the open transport.
    package var connectTimeout = Duration.seconds(10)
    /// From the open transport to the open channel; also how long an orderly close may take.
    package var handshakeTimeout = Duration.seconds(10)
    /// Bytes. A larger delivery arrives as ``AMQPEngine/Event/oversize(_:bodySize:)``, without its body.
    package var maximumBody = 256 * 1024
    /// How many publishes may wait for their confirm.
    package var maximumUnconfirmed = 4096
    /// Bytes. With more than this unsent, nothing more is published.
    package var maximumUnsent = 4 * 1024 * 1024
    /// When acks are sent.
    package var acknowledgements = DeliveryLedger.Limits()
    /// The wait before a consumer that the broker cancelled, or whose channel it closed, is registered again. It
    /// doubles with each close in a row.
    package var consumerRetry = Duration.seconds(2)
    /// The longest such wait.
    package var longestConsumerRetry = Duration.seconds(30)
    /// How long a consumer may get nothing while it could take some and messages wait in its queue; then the connection
    /// is made anew.
    package var stallTimeout = Duration.seconds(60)

    package init(address: BrokerAddress, role: AMQPRole) {
        self.address = address
        self.role = role
    }

    /// Bytes of a frame that we ask for. Not larger, because nested headers recurse in the parser, a level in 5 bytes.
    package static let frameMax: UInt32 = 131_072
    /// The smallest frame size that a peer may ask for. Source: AMQP 0-9-1, section 1.2 (frame-min-size).
    package static let frameMin: UInt32 = 4096
}
