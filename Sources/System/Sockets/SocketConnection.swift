import Core
import Glibc

/// One engine's connection, from the request to the end of its socket.
///
/// ```
/// wanted ──▶ resolving ──▶ connecting ──▶ tunnelling ──▶ open ──▶ lingering ──▶ closed
/// ```
///
/// A numeric address skips `resolving`, an adopted descriptor also `connecting`, and only a connection through a proxy
/// has `tunnelling`; every phase may change to `closed`.
/// The engine gets the end once, and is then released.
final class SocketConnection {
    enum Phase {
        /// Starts at the end of the turn in which it was requested.
        case wanted
        case resolving
        case connecting
        /// The proxy has not yet responded to CONNECT.
        case tunnelling
        case open
        /// All output was sent. Further input is read and discarded: closing a socket with unread bytes resets the
        /// connection, and a reset destroys what the peer has not read yet.
        case lingering
        case closed
    }

    var phase = Phase.wanted
    /// `nil` after it got the end.
    var engine: (any Engine)?
    var query: UInt64?
    /// Schedules it for the flush of this turn, or of the next one.
    let waker: Waker
    /// Its number in the network; reused after it closed.
    var number: Int { waker.member }
    /// What the socket connects to: the proxy's endpoint if there is one.
    let endpoint: Endpoint
    /// `nil` without a proxy.
    var tunnel: ProxyTunnel?
    unowned let network: SocketNetwork
    let buffer: ReadBuffer
    var socket: Descriptor?
    var registration: Registration?

    /// The longest time for resolving and connecting, and again for the proxy's response.
    let timeout: Duration
    var attempts = ConnectAttempts([], deadline: .distantFuture)

    /// Drained from the engine, not yet accepted by the socket.
    var unsent = ByteQueue()
    /// Whether the socket accepts bytes, as far as known.
    var isWritable = true
    /// Whether the loop reports when it accepts bytes again.
    var watchesWriting = false
    /// When the connection is closed by force, after the engine's request to disconnect or while lingering.
    var closeDeadline: Instant?

    init(
        _ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration,
        in network: SocketNetwork
    ) {
        self.engine = engine
        self.endpoint = proxy?.endpoint ?? endpoint
        if let proxy { tunnel = ProxyTunnel(to: endpoint, through: proxy) }
        self.timeout = timeout
        self.network = network
        waker = network.makeWaker()
        buffer = network.buffer
    }

    // MARK: Calls from the network

    var nextDeadline: Instant? {
        switch phase {
        case .wanted, .closed: return nil
        case .resolving: return attempts.deadline
        case .connecting: return attempts.current?.deadline
        case .tunnelling: return tunnel!.deadline
        case .lingering: return closeDeadline
        case .open:
            guard let closeDeadline else { return engine?.nextDeadline }
            return min(closeDeadline, engine?.nextDeadline ?? .distantFuture)
        }
    }

    func expire(at now: Moment) {
        guard let deadline = nextDeadline, deadline <= now.instant else { return }
        switch phase {
        case .wanted, .closed: break
        case .resolving:
            let message = "cannot resolve \(endpoint.host): no answer within \(timeout)"
            finish(TransportError("EAI_AGAIN", message), at: now)
        case .connecting: attemptTimedOut(at: now)
        case .tunnelling: end(tunnel!.timedOut(after: timeout), at: now)
        case .lingering: close()
        case .open:
            if let closeDeadline, closeDeadline <= now.instant {
                let cause = "did not accept the last \(unsent.count) bytes within \(SocketNetwork.closeGracePeriod)"
                finish(TransportError("ETIMEDOUT", "closed the connection to \(endpoint): it \(cause)"), at: now)
            } else {
                engine?.expire(at: now.instant)
            }
        }
    }

    /// Starts the connection if it was requested in this turn, or sends the engine's output.
    func flush(at now: Moment) {
        switch phase {
        case .wanted: begin(at: now)
        case .tunnelling: if isWritable, !unsent.isEmpty { write(at: now) }
        case .open: send(at: now)
        case .resolving, .connecting, .lingering, .closed: break
        }
    }

    /// Closes the socket at once, without notifying the engine.
    func close() {
        precondition(phase != .closed, "a connection closes once")
        if phase == .open || phase == .tunnelling { judgeAddress() }
        releaseSocket()
        engine = nil
        phase = .closed
        network.remove(self)
    }

    /// The transport failed or ended. Before the tunnel is open, that is the proxy's failure.
    func finish(_ failure: TransportError?, at now: Moment) {
        end(phase == .open || tunnel == nil ? failure : tunnel!.ended(failure), at: now)
    }

    func end(_ failure: TransportError?, at now: Moment) {
        let engine = engine
        close()
        notify(engine, failure, at: now)
    }

    func notify(_ engine: (any Engine)?, _ failure: TransportError?, at now: Moment) {
        engine?.transportClosed(failure, at: now.instant)
        // The owner may have finished its part of this turn already.
        network.loop.requestTurn()
    }

    /// Remembers an address whose peer accepts connections but does not speak the engine's protocol, or a proxy's. The
    /// address of a proxy is not to blame for the target.
    func judgeAddress() {
        guard let engine, let attempt = attempts.current, !(tunnel?.hasResponded ?? engine.isEstablished) else {
            return
        }
        network.failedAddresses.failed(attempt.address, at: network.loop.now.instant)
    }

    func releaseSocket() {
        network.loop.deregister(&registration)
        socket = nil
    }
}
