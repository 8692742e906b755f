import Core
import Glibc

/// What the kernel does for the sockets of a network.
package struct SocketOptions: Sendable {
    /// A silent peer is asked for a sign of life after so long without traffic (TCP keepalive) …
    package static let keepAliveIdle = Duration.seconds(60)
    /// … so often, so long apart, before the connection is lost, unless ``unacknowledgedTime`` ends it.
    package static let keepAliveInterval = Duration.seconds(15)
    package static let keepAliveProbes = 4

    /// `TCP_USER_TIMEOUT`, in whole milliseconds: how long sent bytes may stay without an acknowledgement before the
    /// connection is lost. `nil` leaves it to the kernel (about 15 minutes) and to the engines' own heartbeats.
    ///
    /// Not for connections to a broker: Linux also counts the time during which a peer keeps its window shut, as
    /// RabbitMQ does under a memory alarm.
    package var unacknowledgedTime: Duration?
    /// The address of this host, in digits, that connections go out from; of a name's addresses only those of its
    /// family are tried. `nil` leaves it to the kernel.
    package var localAddress: String?

    package init(unacknowledgedTime: Duration? = nil, localAddress: String? = nil) {
        self.unacknowledgedTime = unacknowledgedTime
        self.localAddress = localAddress
    }

    func apply(to socket: borrowing Descriptor) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        // A turn's output is one write already: holding a part of it back would only delay it.
        try socket.set(TCP_NODELAY, of: tcp, to: 1)
        try socket.set(SO_KEEPALIVE, of: SOL_SOCKET, to: 1)
        try socket.set(TCP_KEEPIDLE, of: tcp, to: Int32(Self.keepAliveIdle.inSeconds))
        try socket.set(TCP_KEEPINTVL, of: tcp, to: Int32(Self.keepAliveInterval.inSeconds))
        try socket.set(TCP_KEEPCNT, of: tcp, to: Int32(Self.keepAliveProbes))
        if let unacknowledgedTime {
            try socket.set(TCP_USER_TIMEOUT, of: tcp, to: Int32(clamping: unacknowledgedTime.nanoseconds / 1_000_000))
        }
    }
}
