import Core
import Glibc

/// Kernel options for the sockets of a network.
package struct SocketOptions: Sendable {
    /// The idle time before TCP keepalive probes the peer …
    package static let keepAliveIdle = Duration.seconds(60)
    /// … and the interval and number of probes before the connection is lost, unless ``unacknowledgedTime`` ends it.
    package static let keepAliveInterval = Duration.seconds(15)
    package static let keepAliveProbes = 4

    /// `TCP_USER_TIMEOUT`, in whole milliseconds: the longest time without an acknowledgement for sent bytes. `nil`
    /// uses the kernel's default (about 15 minutes) and the engines' heartbeats.
    ///
    /// Not for connections to a broker: Linux also counts the time of a closed receive window, which RabbitMQ uses
    /// during a memory alarm.
    package var unacknowledgedTime: Duration?

    /// For connections to APNs. The time exceeds that of the PING for unanswered requests, so that it only affects
    /// connections without waiting requests.
    package static let apns = SocketOptions(unacknowledgedTime: .seconds(20))

    package init(unacknowledgedTime: Duration? = nil) {
        self.unacknowledgedTime = unacknowledgedTime
    }

    func apply(to socket: borrowing Descriptor) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        // A turn's output is one write already: Nagle's algorithm would only delay it.
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
