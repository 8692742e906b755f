import APNs
import Core
import Simulator
import System
import TLS
import TestSupport
import Testing

/// A pool over real sockets, a fault-injecting relay, and a simulator behind it.
final class SocketRig: LoopOwner {
    let server: SimulatorServer
    let relay: FaultRelay
    let pool: APNsPool
    private let loop: EventLoop
    private let network: SocketNetwork
    private(set) var responses: [Handle: APNsResponse] = [:]
    private(set) var losses: [Handle: Loss] = [:]
    private(set) var connects = 0
    private(set) var disconnects: [APNsError?] = []
    private var submitted: Handle = 0
    private var condition: () -> Bool = { true }
    private var deadline = Instant.distantFuture

    init(script: String = "", configure: (inout APNsPool.Configuration) -> Void = { _ in }) throws {
        let key = SigningKey.generate()
        var options = SimulatorOptions()
        options.configuration.keys = [
            ProviderKey(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", publicKeyPEM: key.publicKeyPEM)
        ]
        options.script = try Script(script, file: "script", &options.configuration)
        server = try SimulatorServer(options)
        relay = try FaultRelay(to: server.port)
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: try Resolver())
        let endpoint = Endpoint(host: "127.0.0.1", port: relay.port)
        var configuration = APNsPool.Configuration(
            engine: APNsEngine.Configuration(endpoint: endpoint, usesProviderToken: true))
        configuration.connections = 1...1
        configuration.backoff = Backoff(base: .milliseconds(20), limit: .milliseconds(50))
        configure(&configuration)
        pool = APNsPool(
            configuration: configuration,
            context: try TLSContext(role: .client, trust: .pem(server.authorityPEM ?? ""), protocols: ["h2"]),
            tokens: ProviderTokenSource(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ"), network: network,
            at: loop.now.instant)
    }

    deinit {
        relay.stop()
        server.stop()
    }

    /// Submits a request and returns its handle.
    func submit() -> Handle {
        submitted = submitted.advanced(by: 1)
        pool.submit(Fixture.request(submitted), handle: submitted, at: SystemClock.now().instant)
        return submitted
    }

    /// Sends requests one after the other until one is answered, as a connection may just have been lost.
    func ask() throws {
        var handle = submit()
        try run { [unowned self] in
            if losses[handle] != nil { handle = submit() }
            return responses[handle] != nil
        }
        #expect(responses[handle]?.isSuccess == true, "\(responses), \(disconnects)")
    }

    /// Runs until `condition` holds at the end of a turn, and fails after a limit.
    func run(
        within limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation,
        until condition: @escaping () -> Bool
    ) throws {
        self.condition = condition
        defer { self.condition = { true } }
        deadline = SystemClock.now().instant + limit
        try loop.run(owner: self)
        #expect(condition(), "within \(limit)", sourceLocation: sourceLocation)
    }

    // MARK: LoopOwner

    var nextDeadline: Instant? {
        min(deadline, pool.nextDeadline ?? .distantFuture)
    }

    func expire(at now: Moment) {}

    func endTurn(at now: Moment) {
        pool.step(at: now)
        while let event = pool.nextEvent() {
            switch event {
            case .responded(let handle, let response, _): responses[handle] = response
            case .lost(let handle, let loss, _): losses[handle] = loss
            case .connected: connects += 1
            case .disconnected(let error): disconnects.append(error)
            case .expired, .goaway, .alarm, .resent: break
            }
        }
        if condition() || now.instant >= deadline { loop.stop() }
    }
}
