import Core
import Glibc
import Operations
import System

/// Carries out a ``Run`` on a loop with sockets until it is finished.
final class LoopRunner: LoopOwner {
    private static let handled: [Int32] = [SIGINT, SIGTERM]

    let loop: EventLoop
    let network: SocketNetwork
    private let resolver: Resolver
    private var run: (any Run)?
    private var interval: Duration?
    private var afterStep: (Moment) -> Void = { _ in }

    /// From now on the calling thread takes SIGINT and SIGTERM only in ``run(_:every:_:)``.
    ///
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

    /// Turns until the run is finished. SIGINT and SIGTERM stop it.
    ///
    /// - Parameters:
    ///   - interval: the longest time between two steps; `nil` for as long as nothing happens.
    ///   - afterStep: called after each step, the last one too.
    func run(
        _ run: any Run, every interval: Duration? = nil, _ afterStep: @escaping (Moment) -> Void = { _ in }
    ) throws {
        self.run = run
        self.interval = interval
        self.afterStep = afterStep
        _ = try SignalSource(loop: loop, signals: Self.handled) { [unowned self] _ in run.stop(at: loop.now) }
        try loop.run(owner: self)
    }

    // MARK: LoopOwner

    var nextDeadline: Instant? {
        [run?.nextDeadline, interval.map { now + $0 }].compactMap(\.self).min()
    }

    /// The end of the turn does what is due.
    func expire(at now: Moment) {}

    func endTurn(at now: Moment) {
        run?.step(at: now)
        afterStep(now)
        if run?.isFinished ?? true { loop.stop() }
    }
}
