import Core
import Synchronization
import TestSupport
import Testing

@testable import System

/// A loop with a network, which runs until a condition holds.
final class LoopFixture {
    let loop: EventLoop
    let resolver: Resolver
    let network: SocketNetwork
    /// Called at the end of each turn, before the condition is checked.
    var onTurn: (() -> Void)?

    init(
        seed: UInt64 = 1, lookUp: @escaping @Sendable (Endpoint) -> AddressLookup.Response = AddressLookup.system
    ) throws {
        loop = try EventLoop()
        resolver = Resolver(lookUp: lookUp)
        network = try SocketNetwork(loop: loop, resolver: resolver, random: SplitMix64(seed: seed))
    }

    /// A fixture in which every name has these ports of an address, and then that of a listener which echoes.
    static func echoing(
        seed: UInt64 = 1, host: String = "127.0.0.1", after ports: [UInt16] = []
    ) throws -> (fixture: LoopFixture, listener: SocketListener) {
        let live = Mutex<UInt16>(0)
        let fixture = try LoopFixture(seed: seed) { _ in
            .success((ports + [live.withLock { $0 }]).map { ConnectTests.address(host, $0) })
        }
        let listener = try fixture.listen(address: host) { .echo() }
        live.withLock { $0 = listener.port }
        return (fixture, listener)
    }

    /// Runs until `condition` holds at the end of a turn, and fails after a limit.
    func run(
        within time: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation,
        until condition: @escaping () -> Bool
    ) throws {
        let holds = try loop.run(within: time) { [self] in
            onTurn?()
            return condition()
        }
        #expect(holds, "within \(time)", sourceLocation: sourceLocation)
    }

    func runOneTurn() throws { try run { true } }

    /// A listener on a free port of the loopback address; `makeEngine` makes its connections' engines.
    func listen(
        address: String = "127.0.0.1", port: UInt16 = 0, _ makeEngine: @escaping () -> TestEngine
    ) throws -> SocketListener {
        try SocketListener(loop: loop, address: address, port: port) { [unowned self] socket in
            network.adopt(socket, makeEngine())
        }
    }

    /// Connects a new engine to a port of the loopback address.
    func connect(port: UInt16, timeout: Duration = .seconds(10)) -> TestEngine {
        connect(to: Endpoint(host: "127.0.0.1", port: port), timeout: timeout)
    }

    func connect(to endpoint: Endpoint, timeout: Duration = .seconds(10)) -> TestEngine {
        let engine = TestEngine()
        network.connect(engine, to: endpoint, timeout: timeout)
        return engine
    }

    /// Whether another address of a name would be tried before this one.
    func isLast(_ port: UInt16, of host: String = "127.0.0.1") -> Bool {
        let both = [(host, port), ("192.0.2.1", 1)].map { ConnectTests.address($0, $1) }
        return resolver.failedAddresses.last(both, at: SystemClock.instant())[1].endpoint.host == host
    }
}

/// An engine without a protocol: sends given output, and records its calls.
final class TestEngine: Engine {
    private(set) var openings = 0
    /// One element for each reported end.
    private(set) var endings: [TransportError?] = []
    private(set) var received: [UInt8] = []
    /// The number of pieces received.
    private(set) var receipts = 0
    /// What a program wrote to its standard error.
    var complaints: [UInt8] = []
    private(set) var drains = 0
    private(set) var expirations: [Instant] = []
    var output: [UInt8] = []
    var wantsDisconnect = false
    var announces = false
    /// Whether only received bytes show that the peer speaks its protocol.
    var awaitsGreeting = false
    var isEstablished: Bool { !awaitsGreeting || !received.isEmpty }
    var nextDeadline: Instant?
    var onReceive: ((TestEngine, Span<UInt8>) -> Void)?
    var onClose: (() -> Void)?
    /// Appends to the output of each drain.
    var source: ((inout ByteQueue) -> Void)?

    static func echo() -> TestEngine {
        let engine = TestEngine()
        engine.onReceive = { $0.output.append($1) }
        return engine
    }

    var isOpen: Bool { openings == 1 && endings.isEmpty }
    var hasEnded: Bool { !endings.isEmpty }
    /// The error of the single ending; `nil` also when there was none.
    var failure: TransportError? { endings.count == 1 ? endings[0] : nil }

    func announceChanges(to waker: Waker) -> Bool { announces }

    func transportOpened(at now: Instant) { openings += 1 }

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        receipts += 1
        received.append(bytes)
        onReceive?(self, bytes)
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        endings.append(failure)
        onClose?()
    }

    func drain(into queue: inout ByteQueue) {
        drains += 1
        queue.append(output)
        output.removeAll()
        source?(&queue)
    }

    func expire(at now: Instant) {
        expirations.append(now)
        nextDeadline = nil
    }
}

extension Thread {
    /// Runs `body` on a new thread, waits for it, and returns its result or throws its error.
    static func run<Value: Sendable>(
        _ name: String, stackSize: Int = workerStackSize, _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let result = Mutex<Result<Value, any Error>>(.failure(CancellationError()))
        _ = try Thread.start(name: name, stackSize: stackSize) {
            let end = Result { try body() }
            result.withLock { $0 = end }
        }.join(until: .distantFuture)
        return try result.withLock { $0 }.get()
    }
}

extension SocketNetwork {
    /// Open connections in either direction.
    var openConnections: Int { connections.count { $0.phase == .open } }

    /// Connections with a descriptor or about to have one.
    var connectionCount: Int { connections.count { _ in true } }

    /// Bytes drained from the engines that are not yet written to their sockets.
    var unsentBytes: Int { connections.reduce(0) { $0 + $1.unsent.count } }
}
