import AMQP
import Configuration
import Core
import Glibc
import Runtime
import System

/// Runs a ``Run`` on an event loop with sockets until it is finished.
final class LoopRunner: LoopOwner {
    /// The signals that stop a run.
    static let handled: [Int32] = [SIGINT, SIGTERM]

    let loop: EventLoop
    let network: SocketNetwork
    private var run: (any Run)?
    private var interval: Duration?
    private var afterStep: (Moment) -> Void = { _ in }

    /// Blocks SIGINT and SIGTERM in the calling thread; ``run(_:every:_:)`` handles them.
    ///
    /// - Parameter options: of the outgoing sockets.
    init(_ options: SocketOptions = SocketOptions()) throws {
        SignalSource.ignoreBrokenPipes()
        // Before the resolver's thread starts, which inherits the mask.
        SignalSource.block(Self.handled)
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: Resolver(), options: options)
        _ = try SignalSource(loop: loop, signals: Self.handled) { [unowned self] _ in run?.stop(at: loop.now) }
    }

    /// Makes the broker connections of a command.
    ///
    /// - Parameters:
    ///   - name: shown by the broker's management.
    ///   - connectTimeout: see ``AMQPConfiguration/connectTimeout``.
    func connections(
        _ name: String, _ broker: Configuration.Broker, connectTimeout: Duration = AMQPConfiguration.connectTimeout
    ) -> (AMQPRole) throws -> AMQPConnection {
        { [network] role in
            try BrokerConnections.connection(
                role, name: name, broker, network: network, seed: UInt64.random(in: 0 ... .max),
                connectTimeout: connectTimeout)
        }
    }

    var now: Instant { loop.now.instant }

    /// Runs the loop until the run is finished. SIGINT and SIGTERM stop it.
    ///
    /// - Parameters:
    ///   - interval: the longest time between two steps; `nil` for no limit.
    ///   - afterStep: called after each step, including the last one.
    func run(
        _ run: any Run, every interval: Duration? = nil, _ afterStep: @escaping (Moment) -> Void = { _ in }
    ) throws {
        self.run = run
        self.interval = interval
        self.afterStep = afterStep
        try loop.run(owner: self)
    }

    // MARK: LoopOwner

    var nextDeadline: Instant? {
        [run?.nextDeadline, interval.map { now + $0 }].compactMap(\.self).min()
    }

    /// ``endTurn(at:)`` does the due work.
    func expire(at now: Moment) {}

    func endTurn(at now: Moment) {
        run?.step(at: now)
        afterStep(now)
        if run?.isFinished ?? true { loop.stop() }
    }
}
