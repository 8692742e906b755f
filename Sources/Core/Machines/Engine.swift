/// Our end of one protocol on one connection, without socket, clock or thread: bytes in, bytes out.
///
/// An engine lives for one connection. Whoever drives it (a socket, or a test's memory link) calls
/// ``transportOpened(at:)`` once, then ``receive(_:at:)`` for what arrives, ``expire(at:)`` when ``nextDeadline`` has
/// passed, ``drain(into:)`` once per turn, and ``transportClosed(_:at:)`` once at the end. What the engine has to tell
/// its owner, it queues: each engine has a `nextEvent()` with events of its own type.
package protocol Engine: AnyObject {
    /// The transport is connected: the engine may speak first.
    func transportOpened(at now: Instant)

    /// Bytes that arrived from the peer. They are only lent.
    func receive(_ bytes: Span<UInt8>, at now: Instant)

    /// The transport is gone (or never came): `nil` when the peer closed it in order.
    func transportClosed(_ failure: TransportError?, at now: Instant)

    /// Appends everything that is to be sent now.
    func drain(into output: inout ByteQueue)

    /// Whether the peer has shown that it speaks the engine's protocol; where a connection ends before, the next one
    /// goes to another address of the host, if there is one.
    var isEstablished: Bool { get }

    /// True once the engine has nothing more to say: the driver sends what was drained, then closes the transport.
    var wantsDisconnect: Bool { get }

    /// When ``expire(at:)`` is due at the latest.
    var nextDeadline: Instant? { get }

    /// Does what is due at `now`.
    func expire(at now: Instant)

    /// Has `wake` called, from now on, whenever a call of the engine's owner may have given it something to send or
    /// another deadline, so that whoever drives the engine need not ask in every turn.
    ///
    /// - Returns: `false`, as by default, from an engine that does not tell: it is asked in every turn.
    func announceChanges(to wake: @escaping () -> Void) -> Bool
}

extension Engine {
    package var isEstablished: Bool { true }

    package func announceChanges(to wake: @escaping () -> Void) -> Bool { false }
}

/// Where a connection goes to.
package struct Endpoint: Hashable, Sendable {
    /// A host name, or an IPv4 or IPv6 address without brackets.
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

extension Endpoint: CustomStringConvertible {
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// The way out: carries bytes between engines and the world.
///
/// A worker has one network and owns its engines. In production it is a loop with sockets, in a simulation a memory
/// link with faults.
package protocol Network: AnyObject {
    /// Resolves, connects and then drives `engine`; a failure reaches it as ``Engine/transportClosed(_:at:)``, never
    /// before this call has returned.
    func connect(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration)

    /// Closes the engine's transport at once, without telling the engine. Does nothing if it is closed already.
    func disconnect(_ engine: any Engine)
}

/// Why a transport failed.
package struct TransportError: ComponentError {
    /// What failed, in the system's own word (`ECONNREFUSED`, `EAI_NONAME`, `ETIMEDOUT` …).
    package typealias Code = ErrorCode<TransportError>

    package let code: Code
    package let message: String
    package let blame = Blame.remote
    package let isTransient = true

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }
}
