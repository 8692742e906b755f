import Core
package import TLS

/// The purpose of a connection; each connection has exactly one.
///
/// A blocked broker stops reading from publishing connections, so acks need a separate connection. Source:
/// rabbitmq.com/docs/connections (flow control).
package enum AMQPRole: Sendable, Equatable {
    case consumer([ConsumerQueue])
    case publisher
    /// Declares, binds, counts and gets single messages.
    case control
}

package struct ConsumerQueue: Sendable, Equatable {
    package var name: String
    /// The number of unsettled deliveries that the broker allows in flight; at least 1.
    package var prefetch: UInt16
    /// Whether only one consumer receives messages (`x-single-active-consumer`). An idle consumer of it is not
    /// stalled.
    package var isSingleActive: Bool
    /// `x-priority`; `nil` for the broker's default, 0.
    package var priority: Int?

    package init(name: String, prefetch: UInt16, isSingleActive: Bool = false, priority: Int? = nil) {
        self.name = name
        self.prefetch = prefetch
        self.isSingleActive = isSingleActive
        self.priority = priority
    }
}

/// The settings and limits of one connection.
///
/// It is flat because each property is one setting or one limit, and most callers change only one of them.
package struct AMQPConfiguration {
    package static let connectTimeout = Duration.seconds(10)

    package var address: BrokerAddress
    package var role: AMQPRole
    /// Required for `amqps`.
    package var tls: TLSContext?
    /// The name in the broker's certificate, if it differs from the address's host.
    package var serverName: String?
    /// Shown in RabbitMQ's management UI.
    package var connectionName = "harebell"
    package var productVersion = "0"
    /// The interval we request; the broker may lower it. Zero turns heartbeats off if the broker agrees.
    package var heartbeat = Duration.seconds(15)
    /// From name resolution to the open transport, and from there to the broker's first frame.
    package var connectTimeout = connectTimeout
    /// From the broker's first frame to the open channel. Also the limit for an orderly close.
    package var handshakeTimeout = connectTimeout
    /// Bytes. A larger delivery arrives without its body.
    package var maximumBody = 256 * 1024
    /// The maximum number of publishes that wait for their confirm.
    package var maximumUnconfirmed = 4096
    /// Bytes. Publishing pauses while more than this is unsent.
    package var maximumUnsent = 4 * 1024 * 1024
    /// The delay before a consumer is registered again after the broker cancelled it or closed its channel. It doubles
    /// with each consecutive close.
    package var consumerRetry = Duration.seconds(2)
    /// The maximum of that delay.
    package var longestConsumerRetry = Duration.seconds(30)
    /// The connection is replaced when a consumer with free prefetch receives nothing for this long although messages
    /// wait in its queue.
    package var stallTimeout = Duration.seconds(60)
    /// Whether a consuming connection may open one more channel, for message counts.
    var countsMessages = true

    package init(address: BrokerAddress, role: AMQPRole) {
        self.address = address
        self.role = role
    }

    /// The frame size that we request, in bytes. Nested headers recurse in the parser, one level per 5 bytes, so it is
    /// limited.
    package static let frameMax: UInt32 = 131_072
    /// The minimum frame size that a peer may request. Source: AMQP 0-9-1, section 1.2 (frame-min-size).
    package static let frameMin: UInt32 = 4096
}
