import Core

/// Opens a tunnel through a proxy, then passes all data to the inner engine.
final class TunnelEngine: Engine {
    private enum State {
        /// Connecting to the proxy.
        case connecting
        case asking(deadline: Instant)
        case open
        /// The inner engine was notified of the end.
        case closed
    }

    let inner: any Engine
    private var tunnel: ProxyTunnel
    private let timeout: Duration
    private var state = State.connecting
    private var request: [UInt8] = []

    /// - Parameter timeout: for the proxy's response, counted from the connection to the proxy.
    init(_ inner: any Engine, _ tunnel: consuming ProxyTunnel, timeout: Duration) {
        self.inner = inner
        self.tunnel = tunnel
        self.timeout = timeout
    }

    var hasEnded: Bool {
        if case .closed = state { true } else { false }
    }

    /// Between calls of the transport, only the inner engine changes.
    func announceChanges(to wake: @escaping () -> Void) -> Bool {
        inner.announceChanges(to: wake)
    }

    func transportOpened(at now: Instant) {
        state = .asking(deadline: now + timeout)
        request = tunnel.request
    }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        switch state {
        case .connecting: preconditionFailure("nothing arrives before the transport is open")
        case .asking:
            do throws(TransportError) {
                guard let count = try tunnel.receive(bytes) else { return }
                state = .open
                inner.transportOpened(at: now)
                if count < bytes.count { inner.receive(bytes.extracting(count...), at: now) }
            } catch {
                end(error, at: now)
            }
        case .open: inner.receive(bytes, at: now)
        case .closed: break
        }
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        switch state {
        case .connecting: end(failure.map(ProxyNetwork.notReached), at: now)
        case .asking: end(failure.map(ProxyNetwork.notReached) ?? tunnel.closedEarly, at: now)
        case .open: end(failure, at: now)
        case .closed: break
        }
    }

    func drain(into output: inout ByteQueue) {
        switch state {
        case .asking:
            output.append(request)
            request = []
        case .open: inner.drain(into: &output)
        case .connecting, .closed: break
        }
    }

    var wantsDisconnect: Bool {
        switch state {
        case .connecting, .asking: false
        case .open: inner.wantsDisconnect
        case .closed: true
        }
    }

    var nextDeadline: Instant? {
        switch state {
        case .connecting, .closed: nil
        case .asking(let deadline): deadline
        case .open: inner.nextDeadline
        }
    }

    func expire(at now: Instant) {
        switch state {
        case .asking(let deadline) where deadline <= now: end(tunnel.timedOut(after: timeout), at: now)
        case .open: inner.expire(at: now)
        case .connecting, .asking, .closed: break
        }
    }

    private func end(_ failure: TransportError?, at now: Instant) {
        state = .closed
        inner.transportClosed(failure, at: now)
    }
}
