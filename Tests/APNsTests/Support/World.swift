import APNs
import Core
import HTTP2
import Simulator
import TLS
import TestSupport

/// A pool, the network it dials and the servers, on one virtual clock.
final class World {
    /// A failed attempt whose request was sent again.
    struct Resend {
        let end: APNsPool.AttemptEnd
        let sentAt: Instant
        let endedAt: Instant
    }

    let network: MemoryNetwork
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
    var refusesConnects = false
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

    init(
        tokens: ProviderTokenSource? = nil, seed: UInt64 = 1,
        configure: (inout APNsPool.Configuration) -> Void = { _ in }
    ) throws {
        serverContext = try Fixture.serverContext()
        let engine = APNsEngine.Configuration(endpoint: Fixture.endpoint, usesProviderToken: tokens != nil)
        var configuration = APNsPool.Configuration(
            engine: engine, connections: 1...1, permitsPerSecond: 4000, burst: 500)
        configure(&configuration)
        network = MemoryNetwork(start: Fixture.start) { _ in nil }
        network.latency = .milliseconds(5)
        pool = try APNsPool(
            configuration: configuration, context: Fixture.clientContext(), tokens: tokens, network: network,
            random: SplitMix64(seed: seed), at: network.now)
        network.accept = { [unowned self] _ in accept() }
    }

    /// A pool with provider tokens, and the simulator with a script.
    convenience init(script: String, configure: (inout APNsPool.Configuration) -> Void = { _ in }) throws {
        try self.init(tokens: Fixture.tokens(), configure: configure)
        simulator = try Fixture.simulator(script)
    }

    /// A pool whose connections have these permits.
    convenience init(burst: Int, permitsPerSecond permits: Int) throws {
        try self.init(configure: { ($0.burst, $0.permitsPerSecond) = (burst, permits) })
    }

    /// A pool whose servers hold these requests and respond to none.
    ///
    /// - Parameter streams: the limit of each server.
    static func holding(
        _ requests: Range<Handle>, streams: UInt32? = nil,
        configure: (inout APNsPool.Configuration) -> Void = { _ in }
    ) throws -> World {
        let world = try World(configure: configure)
        if let streams { world.settings.initial[.maxConcurrentStreams] = streams }
        world.onRequest = { _, _ in }
        world.submit(requests)
        world.pass(.seconds(1))
        return world
    }

    private func accept() -> (any Engine)? {
        dialledAt.append(network.now)
        guard !refusesConnects else { return nil }
        do {
            if let simulator { return try simulator.makeEngine() }
            let server = try TestServer(context: serverContext, settings: settings) { [unowned self] in
                onRequest($0, $1)
            }
            servers.append(server)
            onDial(server)
            return server
        } catch {
            preconditionFailure("a server needs only memory: \(error)")
        }
    }

    // MARK: Test actions

    /// Each request is for a different device.
    func submit(_ range: Range<Handle>, payload: Int = 20) {
        for handle in range {
            let device = DeviceToken(String(handle.value + 0x1000_0000, radix: 16))
            pool.submit(Fixture.request(handle, payload: payload, device: device), handle: handle, at: network.now)
        }
    }

    /// Submits `count` requests at a time, and lets `pause` pass after each batch.
    func submit(_ range: Range<Handle>, each count: Int = 1, every pause: Duration) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: count) {
            submit(start..<start.advanced(by: count))
            pass(pause)
        }
    }

    var statistics: PoolStatistics { pool.statistics(at: network.now) }
    var counters: PoolCounters { statistics.counters }

    func cancel(_ handle: Handle) -> Bool { pool.cancel(handle) }

    var isDrained: Bool { pool.isDrained }

    /// Cuts a server's connection; both ends see the close.
    func cut(_ server: TestServer) {
        for link in network.links where link.server === server { network.cut(link) }
    }

    /// The pool's clocks.
    var now: Moment {
        let passed = (network.now - Fixture.start.instant).nanoseconds + skew.nanoseconds
        return Moment(
            instant: network.now, wall: WallTime(milliseconds: Fixture.start.wall.milliseconds + passed / 1_000_000))
    }

    /// Advances time and runs all events at their instants.
    func pass(_ duration: Duration) {
        network.advance(by: duration, deadline: { pool.nextDeadline }, turn: turn)
    }

    private func turn() -> Bool {
        pool.step(at: now)
        listen()
        check()
        return pool.nextDeadline.map { $0 <= network.now } ?? false
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
