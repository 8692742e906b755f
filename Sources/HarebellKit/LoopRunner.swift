import Core
import Glibc
import System

/// Runs one sans-IO run (a load, a topology) on a loop with sockets until it says that it is over.
final class LoopRunner: LoopOwner {
    let loop: EventLoop
    private var signals: SignalSource?
    private var nextDeadlineOfRun: () -> Instant? = { nil }
    private var expireRun: (Instant) -> Void = { _ in }
    private var stepRun: (Moment) -> Bool = { _ in true }
    let network: SocketNetwork
    private let resolver: Resolver

    private static let handled: [Int32] = [SIGINT, SIGTERM]

    /// - Parameters:
    ///   - options: of the sockets that it connects.
    ///   - lookUp: what answers for names; it runs on a thread of its own.
    init(
        _ options: SocketOptions = SocketOptions(),
        lookUp: @escaping @Sendable (Endpoint) -> AddressLookup.Answer = AddressLookup.system
    ) throws {
        SignalSource.ignoreBrokenPipes()
        // Before the resolver's thread starts, which inherits the mask.
        SignalSource.block(Self.handled)
        loop = try EventLoop()
        resolver = try Resolver(lookUp: lookUp)
        network = try SocketNetwork(loop: loop, resolver: resolver, options: options)
    }

    /// One more network on the same loop.
    func makeNetwork(_ options: SocketOptions) throws -> SocketNetwork {
        try SocketNetwork(loop: loop, resolver: resolver, options: options)
    }

    var now: Instant { loop.now.instant }

    /// Turns until `step` returns true.
    ///
    /// - Parameter interrupted: called on SIGINT and SIGTERM
    func run(
        nextDeadline: @escaping () -> Instant?, expire: @escaping (Instant) -> Void,
        interrupted: @escaping () -> Void, step: @escaping (Moment) -> Bool
    ) throws {
        nextDeadlineOfRun = nextDeadline
        expireRun = expire
        stepRun = step
        signals = try SignalSource(loop: loop, signals: Self.handled) { _ in interrupted() }
        try loop.run(owner: self)
    }

    var nextDeadline: Instant? {
        nextDeadlineOfRun()
    }

    func expire(at now: Moment) {
        expireRun(now.instant)
    }

    func endTurn(at now: Moment) {
        if stepRun(now) { loop.stop() }
    }
}
