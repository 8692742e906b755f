import Core
import Glibc

/// One engine's connection, from the wish for it to the end of its socket.
///
/// ```
/// wanted ──▶ resolving ──▶ connecting ──▶ open ──▶ lingering ──▶ closed
/// ```
///
/// A numeric address skips `resolving`, an adopted descriptor `connecting` too; every phase may go to `closed`. The
/// engine is told the end once, and let go at that moment.
final class SocketConnection {
    enum Phase {
        /// Begins at the end of the turn in which it was asked for.
        case wanted
        case resolving
        case connecting
        case open
        /// All is said. What the peer still sends is read and dropped: closing a socket with unread bytes resets the
        /// connection, and a reset destroys what the peer has not read yet.
        case lingering
        case closed
    }

    var phase = Phase.wanted
    /// `nil` once it was told the end.
    var engine: (any Engine)?
    /// What the resolver was asked, while the answer is awaited.
    var query: UInt64?
    /// Its network's name for it; another connection's after it closed.
    var number = 0
    let endpoint: Endpoint
    unowned let network: SocketNetwork
    var socket: Descriptor?
    var registration: Registration?

    /// How long resolving and connecting may take together.
    let timeout: Duration
    var attempts: ConnectAttempts

    /// Drained from the engine, not yet taken by the socket.
    var unsent = ByteQueue()
    /// Whether the socket takes bytes, as far as is known.
    var isWritable = true
    /// Whether the loop tells when it takes bytes again.
    var watchesWriting = false
    /// When an engine's wish to disconnect, or a lingering socket, is ended by force.
    var farewellDeadline: Instant?

    /// A connection to be made to `endpoint`.
    init(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration, in network: SocketNetwork) {
        self.engine = engine
        self.endpoint = endpoint
        self.timeout = timeout
        self.network = network
        attempts = ConnectAttempts([], deadline: .distantFuture)
    }

    /// A connection that exists already.
    init(_ engine: any Engine, over socket: consuming Descriptor, in network: SocketNetwork) {
        self.engine = engine
        endpoint = SocketAddress(ofPeer: socket)?.endpoint ?? Endpoint(host: "a peer that has left", port: 0)
        timeout = .zero
        self.network = network
        attempts = ConnectAttempts([], deadline: .distantFuture)
        self.socket = consume socket
    }

    // MARK: What the network asks

    var nextDeadline: Instant? {
        switch phase {
        case .wanted, .closed: return nil
        case .resolving: return attempts.deadline
        case .connecting: return attempts.current?.deadline
        case .lingering: return farewellDeadline
        case .open:
            guard let farewellDeadline else { return engine?.nextDeadline }
            return min(farewellDeadline, engine?.nextDeadline ?? .distantFuture)
        }
    }

    func expire(at now: Moment) {
        guard let deadline = nextDeadline, deadline <= now.instant else { return }
        switch phase {
        case .wanted, .closed: break
        case .resolving: finish(.resolverTimedOut(endpoint, after: timeout), at: now)
        case .connecting: attemptTimedOut(at: now)
        case .lingering: close()
        case .open:
            if let farewellDeadline, farewellDeadline <= now.instant {
                finish(.farewellTimedOut(endpoint, unsent: unsent.count, after: SocketNetwork.farewellTime), at: now)
            } else {
                engine?.expire(at: now.instant)
            }
        }
    }

    /// Begins what was asked for in this turn, or sends what the engine has to say.
    func flush(at now: Moment) {
        switch phase {
        case .wanted: begin(at: now)
        case .open: send(at: now)
        case .resolving, .connecting, .lingering, .closed: break
        }
    }

    /// Closes the socket at once; the engine, if there still is one, hears nothing more.
    func close() {
        precondition(phase != .closed, "a connection closes once")
        if phase == .open { judgeAddress() }
        releaseSocket()
        engine = nil
        phase = .closed
        network.remove(self)
    }

    /// Closes the socket and tells the engine.
    func finish(_ failure: TransportError?, at now: Moment) {
        let engine = engine
        close()
        tell(engine, failure, at: now)
    }

    func tell(_ engine: (any Engine)?, _ failure: TransportError?, at now: Moment) {
        engine?.transportClosed(failure, at: now.instant)
        // The owner may have had its part of this turn already.
        network.loop.requestTurn()
    }

    /// Remembers an address behind which something takes connections and then does not speak the engine's protocol.
    func judgeAddress() {
        guard let engine, !engine.isEstablished, let attempt = attempts.current else { return }
        network.failedAddresses.failed(attempt.address, at: network.loop.now.instant)
    }

    func releaseSocket() {
        if let registration { network.loop.deregister(registration) }
        registration = nil
        socket = nil
    }
}
