/// The local end of one protocol on one connection, without socket, clock or thread: bytes in, bytes out.
///
/// An engine lives for one connection. Its driver (a socket, or a test's memory link) calls:
/// - ``transportOpened(at:)`` once,
/// - ``receive(_:at:)`` for received bytes,
/// - ``expire(at:)`` when ``nextDeadline`` has passed,
/// - ``drain(into:)`` once per turn,
/// - ``transportClosed(_:at:)`` once at the end.
///
/// Each engine queues typed events for its owner, who reads them with `nextEvent()`.
package protocol Engine: AnyObject {
    /// The transport is connected; the engine may send first.
    func transportOpened(at now: Instant)

    func receive(_ bytes: Span<UInt8>, at now: Instant)

    /// The transport is closed or could not be opened; `nil` when the peer closed it in order.
    func transportClosed(_ failure: TransportError?, at now: Instant)

    /// Appends everything that must be sent now.
    func drain(into output: inout ByteQueue)

    /// Whether the peer has proved that it speaks the engine's protocol. If a connection ends before that, the next
    /// one uses another address of the host, if there is one.
    var isEstablished: Bool { get }

    /// True once the engine will produce no more output: the driver sends what is left, if the peer takes it in time,
    /// then closes the transport.
    var wantsDisconnect: Bool { get }

    /// The next time to call ``expire(at:)``; `nil` for none.
    var nextDeadline: Instant? { get }

    func expire(at now: Instant)

    /// The engine wakes its driver by `waker` whenever its owner's calls may have produced output or changed the
    /// deadline, so that the driver need not poll it every turn.
    ///
    /// - Returns: `false`, the default, if the engine does not support it and must be polled.
    func announceChanges(to waker: Waker) -> Bool
}

extension Engine {
    package func announceChanges(to waker: Waker) -> Bool { false }
}

/// The target of a connection.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A host name, or an IPv4 or IPv6 address without brackets.
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// Carries bytes between engines and their peers.
///
/// A worker has one network, which owns its engines. In production it is an event loop with sockets; in a simulation
/// it is a memory link with faults.
package protocol Network: AnyObject {
    /// Resolves, connects and then drives `engine`. A failure is reported by ``Engine/transportClosed(_:at:)``, never
    /// before this call has returned.
    ///
    /// - Parameters:
    ///   - proxy: is resolved and connected to instead of the endpoint, whose name it resolves; `nil` for none.
    ///   - timeout: for the connect, and again for the proxy's response.
    func connect(_ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration)

    /// Closes the engine's transport immediately, without a callback. Does nothing if it is already closed.
    func disconnect(_ engine: any Engine)
}

extension Network {
    package func connect(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration) {
        connect(engine, to: endpoint, through: nil, timeout: timeout)
    }
}

/// Why a transport failed. The code is the system's error name (`ECONNREFUSED`, `EAI_NONAME`, `ETIMEDOUT` …).
package typealias TransportError = ComponentFailure<Endpoint>
