package import Core
import HTTP2
import TLS

/// The server end of one simulated APNs connection: TLS, HTTP/2, Apple's documented rules, and the script.
///
/// Responses are ready as soon as a request is complete, or after their delay. Delays are deadlines, so virtual time
/// suffices for tests. The ledger records all requests.
package final class SimulatorEngine: Engine {
    enum Phase {
        case handshaking, open
        /// GOAWAY was sent: the connection ends with the last response.
        case draining
        /// Pending output is sent, then the connection ends with or without close_notify.
        case ending(withCloseNotify: Bool)
        case ended
    }

    enum Timer {
        case respond(stream: Int32)
        case rule(Int)
        case goaway(ScriptGoaway, last: Int32?)
        /// Releases the held output.
        case release
    }

    let context: SimulatorContext
    /// From 1, in the order in which the connections were opened.
    let number: Int
    let http: HTTP2ServerSession
    private var tls: TLSSession
    var phase = Phase.handshaking

    var rules = RequestRules()
    var credential = ProviderTokenRules()
    /// The counts of the script's conditions on this connection.
    var counters: [Int]
    var timers = DeadlineQueue<Timer>()
    /// The script's rules for idle connections with their times, shortest first.
    private let idleRules: [(time: Duration, rule: Int)]
    private var nextIdle = 0
    private var lastActivity = Instant.distantFuture
    /// Delayed responses, by stream.
    var waiting: [Int32: PreparedResponse] = [:]
    /// Resets that follow the headers of a response.
    var resets: [(stream: Int32, code: HTTP2ErrorCode)] = []
    /// Streams without a response.
    var silent: Set<Int32> = []
    /// When the longest delay of all output ends.
    var heldUntil = Instant(nanoseconds: 0)
    /// The highest stream that is processed.
    var lastAllowed = Int32.max

    private var arrived = ByteQueue()
    private var leaving = ByteQueue()
    var wasClosed = false
    private var hasFailed = false

    init(context: SimulatorContext, number: Int) throws(Complaint) {
        self.context = context
        self.number = number
        tls = TLSSession(context: context.tls, serverName: nil)
        counters = Array(repeating: 0, count: context.script.counters)
        idleRules = context.script.rules.enumerated()
            .compactMap { index, rule in if case .idle(let time) = rule.trigger { (time, index) } else { nil } }
            .sorted { $0.time < $1.time }
        do {
            var settings = HTTP2ServerSession.Settings()
            settings.initial[.maxConcurrentStreams] = context.configuration.streamsBeforeToken
            http = try HTTP2ServerSession(settings: settings)
        } catch {
            throw Complaint("nghttp2 cannot create a session: \(error)")
        }
    }

    var ledger: SimulatorLedger { context.ledger }

    // MARK: Engine

    package func transportOpened(at now: Instant) {
        ledger.count {
            $0.connections += 1
            $0.openConnections += 1
        }
        lastActivity = now
        guard !context.admitsConnection(at: now) else { return }
        ledger.count { $0.refusedConnections += 1 }
        phase = .ended
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        switch phase {
        case .handshaking, .open, .draining: break
        case .ending, .ended: return
        }
        tls.receive(bytes)
        do {
            if case .handshaking = phase {
                guard try tls.handshake() else { return }
                opened(at: now)
            }
            try read()
        } catch {
            fail(error)
        }
        takeEvents(at: now)
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        guard !wasClosed else { return }
        wasClosed = true
        phase = .ended
        loseWaiting(at: now)
        ledger.count { $0.openConnections -= 1 }
    }

    package func drain(into output: inout ByteQueue) {
        switch phase {
        case .handshaking, .ended: return tls.drain(into: &output)
        case .open, .draining, .ending: break
        }
        do {
            try http.drain(into: &leaving)
            try sendResets()
        } catch {
            fail(error)
        }
        // Fails only without memory: a failed read has ended the connection before.
        try? tls.write(from: &leaving)
        if case .draining = phase, http.openStreams <= silent.count, waiting.isEmpty {
            phase = .ending(withCloseNotify: true)
        }
        if case .ending(let withCloseNotify) = phase {
            if withCloseNotify { tls.close() }
            phase = .ended
        }
        tls.drain(into: &output)
    }

    private func sendResets() throws(HTTP2Error) {
        guard !resets.isEmpty, !http.holdsOutput else { return }
        for (stream, code) in resets { try http.reset(stream: stream, code: code) }
        resets = []
        try http.drain(into: &leaving)
    }

    /// Accepted connections have no other address.
    package var isEstablished: Bool { true }
    package var wantsDisconnect: Bool {
        if case .ended = phase { true } else { false }
    }

    package var nextDeadline: Instant? {
        if case .ended = phase { return nil }
        let earliest = min(idleDeadline, timers.earliest)
        return earliest == .distantFuture ? nil : earliest
    }

    package func expire(at now: Instant) {
        while timers.earliest <= now, let timer = timers.popFirst() {
            switch timer {
            case .respond(let stream):
                if let prepared = waiting.removeValue(forKey: stream) { send(prepared, on: stream, at: now) }
            case .rule(let index): perform(context.script.rules[index].actions, at: now)
            case .goaway(let goaway, let last): sendGoaway(goaway, last: last, at: now)
            case .release: http.holdsOutput = now < heldUntil
            }
        }
        while idleDeadline <= now {
            nextIdle += 1
            perform(context.script.rules[idleRules[nextIdle - 1].rule].actions, at: now)
        }
    }

    /// When the next idle rule applies; in the distant future after the last one.
    private var idleDeadline: Instant {
        nextIdle < idleRules.count ? lastActivity + idleRules[nextIdle].time : .distantFuture
    }

    // MARK: Connection

    private func opened(at now: Instant) {
        phase = .open
        if let shown = tls.peerCertificate {
            rules.certificate = shown
            authenticated(at: now)
        }
        for (index, rule) in context.script.rules.enumerated() {
            switch rule.trigger {
            case .connected: perform(rule.actions, at: now)
            case .age(let duration): timers.insert(.rule(index), due: now + duration)
            case .request, .authenticated, .idle: continue
            }
        }
    }

    private func read() throws {
        while case .bytes = try tls.read(into: &arrived) {
            try arrived.withBytes { (bytes) throws(HTTP2Error) in try http.receive(bytes) }
            arrived.removeAll()
        }
        if case .closed = try tls.read(into: &arrived) { phase = .ending(withCloseNotify: true) }
    }

    private func takeEvents(at now: Instant) {
        while let event = http.nextEvent() {
            switch event {
            case .request(let stream, let request):
                lastActivity = now
                nextIdle = 0
                take(request, on: stream, at: now)
            case .closed(let stream, _):
                silent.remove(stream)
                if let prepared = waiting.removeValue(forKey: stream) { ended(prepared.record, .lost, at: now) }
            case .priorityFrame: ledger.count { $0.priorityFrames += 1 }
            case .ping: ledger.count { $0.pings += 1 }
            case .pong: ledger.count { $0.pongs += 1 }
            case .goaway: continue
            }
        }
    }

    /// Ends the connection because of a TLS or HTTP/2 error by the client; pending output is still sent.
    func fail(_ error: any Error) {
        switch phase {
        case .handshaking, .ending, .ended: phase = .ended
        case .open, .draining: phase = error is HTTP2Error ? .ending(withCloseNotify: true) : .ended
        }
        guard !hasFailed else { return }
        hasFailed = true
        context.failed(connection: number, error)
    }

    func loseWaiting(at now: Instant) {
        for (_, prepared) in waiting.sorted(by: { $0.key < $1.key }) { ended(prepared.record, .lost, at: now) }
        waiting = [:]
    }

    func ended(
        _ record: SimulatorLedger.Record, _ ending: SimulatorLedger.Ending, because cause: String? = nil,
        at now: Instant
    ) {
        var record = record
        record.ending = ending
        record.cause = cause
        record.endedAt = now
        context.ended(record)
    }
}
