import APNs
import Core
import HTTP2
import Simulator
import TLS
import TestSupport

/// A pool, the network it dials and the servers, on one virtual clock.
final class World {
    private final class Wire {
        let client: APNsLink
        let server: any Engine
        let opensAt: Instant
        var isOpen = false
        var isClosed = false
        /// Bytes in flight: when they arrive, and at which end.
        var pieces: [(due: Instant, toServer: Bool, bytes: [UInt8])] = []

        init(client: APNsLink, server: any Engine, opensAt: Instant) {
            self.client = client
            self.server = server
            self.opensAt = opensAt
        }
    }

    /// A failed attempt whose request was sent again.
    struct Resend {
        let end: APNsPool.AttemptEnd
        let sentAt: Instant
        let endedAt: Instant
    }

    /// The pool's network: the world owns the pool, so the pool must not own the world.
    private final class Line: Network {
        unowned var world: World!

        func connect(
            _ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration
        ) {
            world.connect(engine)
        }

        func disconnect(_ engine: any Engine) {
            world.disconnect(engine)
        }
    }

    private(set) var now = Fixture.start
    var pool: APNsPool
    /// All servers that were dialled, in order.
    private(set) var servers: [TestServer] = []
    private(set) var dialledAt: [Instant] = []
    /// A simulator in place of the test servers.
    var simulator: SimulatorContext?
    /// The offset of the pool's wall clock from the others'.
    var skew = Duration.zero
    /// How each new server handles requests.
    var onRequest: (TestServer, TestServer.Received) -> Void = { $0.respond($1.stream) }
    var settings = HTTP2ServerSession.Settings()
    /// Run on each new server before it receives anything.
    var onDial: (TestServer) -> Void = { _ in }
    /// The identity of each new server.
    var serverContext: TLSContext
    /// Replaces all servers.
    var stranger: (() -> any Engine)?
    var refusesConnects = false
    var latency = Duration.milliseconds(5)
    /// The pool's events.
    private(set) var responses: [Handle: APNsResponse] = [:]
    private(set) var losses: [Handle: Loss] = [:]
    private(set) var resends: [Handle: [Resend]] = [:]
    private(set) var expired: [Handle] = []
    private(set) var endings = 0
    private(set) var disconnects: [APNsError?] = []
    private(set) var alarms: [APNsPool.Alarm] = []
    /// Whether the owner takes the pool's events.
    var takesEvents = true
    /// Called after every step.
    var check: () -> Void = {}

    private var wires: [Wire] = []
    private var refused: [APNsLink] = []

    init(
        tokens: ProviderTokenSource? = nil, seed: UInt64 = 1,
        configure: (inout APNsPool.Configuration) -> Void = { _ in }
    ) throws {
        serverContext = try Fixture.serverContext()
        let engine = APNsEngine.Configuration(endpoint: Fixture.endpoint, usesProviderToken: tokens != nil)
        var configuration = APNsPool.Configuration(engine: engine)
        configuration.connections = 1...1
        configure(&configuration)
        let line = Line()
        pool = try APNsPool(
            configuration: configuration, context: Fixture.clientContext(), tokens: tokens, network: line,
            random: SplitMix64(seed: seed), at: now.instant)
        line.world = self
    }

    // MARK: Network

    private func connect(_ engine: any Engine) {
        guard let client = engine as? APNsLink else { preconditionFailure("a pool dials with its connections") }
        dialledAt.append(now.instant)
        if refusesConnects { return refused.append(client) }
        do {
            let server = try makeServer()
            wires.append(Wire(client: client, server: server, opensAt: now.instant + latency))
        } catch {
            preconditionFailure("a server needs only memory: \(error)")
        }
    }

    private func makeServer() throws -> any Engine {
        if let stranger { return stranger() }
        if let simulator { return try simulator.makeEngine() }
        let server = try TestServer(context: serverContext, settings: settings) { [unowned self] in onRequest($0, $1) }
        servers.append(server)
        onDial(server)
        return server
    }

    private func disconnect(_ engine: any Engine) {
        for wire in wires where wire.client === engine { wire.isClosed = true }
    }

    // MARK: Test actions

    /// Each request is for a different device.
    func submit(_ range: Range<Handle>, payload: Int = 20) {
        for handle in range {
            let device = DeviceToken(String(handle.value + 0x1000_0000, radix: 16))
            pool.submit(Fixture.request(handle, payload: payload, device: device), handle: handle, at: now.instant)
        }
    }

    func cancel(_ handle: Handle) -> Bool { pool.cancel(handle) }

    var isDrained: Bool { pool.isDrained }

    /// Cuts a server's wire; both ends see the close.
    func cut(_ server: TestServer) {
        for wire in wires where wire.server === server && wire.isOpen && !wire.isClosed {
            close(wire, TransportError(.init(rawValue: "ECONNRESET"), "the connection was reset"))
        }
    }

    /// Advances time and runs all events at their instants.
    func pass(_ duration: Duration) {
        let end = now.instant + duration
        settle()
        while let next = nextInstant, next <= end {
            set(max(next, now.instant))
            settle()
        }
        set(end)
    }

    // MARK: Time

    private var nextInstant: Instant? {
        var instants = [pool.nextDeadline].compactMap { $0 }
        for wire in wires {
            if wire.isOpen { instants += wire.pieces.map(\.due) } else { instants.append(wire.opensAt) }
            for end in [wire.client, wire.server] as [any Engine] {
                if let deadline = end.nextDeadline { instants.append(deadline) }
            }
        }
        return instants.min()
    }

    private func set(_ instant: Instant) {
        now = Moment(
            instant: instant,
            wall: WallTime(
                milliseconds: Fixture.start.wall.milliseconds + (instant.nanoseconds + skew.nanoseconds) / 1_000_000))
    }

    /// Runs turns until nothing moves: first the network, then the pool.
    private func settle() {
        repeat {
            refuse()
            for wire in wires where !wire.isClosed { turn(wire) }
            pool.step(at: now)
            listen()
            check()
        } while wires.map({ !$0.isClosed && flush($0) }).contains(true) || !refused.isEmpty
            || (pool.nextDeadline.map { $0 <= now.instant } ?? false)
        wires.removeAll { $0.isClosed }
    }

    private func refuse() {
        let clients = refused
        refused = []
        for client in clients {
            let error = TransportError(.init(rawValue: "ECONNREFUSED"), "the peer does not listen")
            client.transportClosed(error, at: now.instant)
        }
    }

    private func turn(_ wire: Wire) {
        if !wire.isOpen, wire.opensAt <= now.instant {
            wire.isOpen = true
            wire.client.transportOpened(at: now.instant)
            wire.server.transportOpened(at: now.instant)
        }
        for end in [wire.client, wire.server] as [any Engine] {
            if let deadline = end.nextDeadline, deadline <= now.instant { end.expire(at: now.instant) }
        }
        while let piece = wire.pieces.first, piece.due <= now.instant, !wire.isClosed {
            wire.pieces.removeFirst()
            let receiver: any Engine = piece.toServer ? wire.server : wire.client
            receiver.receive(piece.bytes.span, at: now.instant)
        }
    }

    /// - Returns: Whether something is due at this instant.
    private func flush(_ wire: Wire) -> Bool {
        guard wire.isOpen else { return false }
        for (sender, toServer) in [(wire.client, true), (wire.server, false)] as [(any Engine, Bool)] {
            var queue = ByteQueue()
            sender.drain(into: &queue)
            if !queue.isEmpty { wire.pieces.append((now.instant + latency, toServer, queue.copy())) }
        }
        if wire.pieces.isEmpty, wire.client.wantsDisconnect || wire.server.wantsDisconnect {
            close(wire, nil)
            return true
        }
        return wire.pieces.first.map { $0.due <= now.instant } ?? false
    }

    private func close(_ wire: Wire, _ error: TransportError?) {
        wire.isClosed = true
        wire.client.transportClosed(error, at: now.instant)
        wire.server.transportClosed(error, at: now.instant)
    }

    private func listen() {
        while takesEvents, let event = pool.nextEvent() {
            switch event {
            case .responded(let handle, let response, _):
                endings += 1
                responses[handle] = response
            case .expired(let handle):
                expired.append(handle)
                endings += 1
            case .lost(let handle, let loss, _):
                endings += 1
                losses[handle] = loss
            case .disconnected(let error): disconnects.append(error)
            case .alarm(let alarm): alarms.append(alarm)
            case .resent(let handle, let end, let sentAt, let endedAt):
                resends[handle, default: []].append(Resend(end: end, sentAt: sentAt, endedAt: endedAt))
            case .connected, .goaway: break
            }
        }
    }
}
