import AMQP
import Configuration
import Core
import Glibc
import Runtime
import System

/// Runs a ``Run`` on an event loop with sockets until it is finished.
final class LoopRunner: LoopOwner {
    static let handled: [Int32] = [SIGINT, SIGTERM]

    let loop: EventLoop
    let network: SocketNetwork
    private var current: (any Run)?
    private var bar: ProgressBar?

    /// Blocks SIGINT and SIGTERM in the calling thread; ``run(_:showing:)`` handles them.
    ///
    /// - Parameter options: of the outgoing sockets.
    init(_ options: SocketOptions = SocketOptions()) throws {
        SignalSource.ignoreBrokenPipes()
        // Before the resolver's thread starts, which inherits the mask.
        SignalSource.block(Self.handled)
        loop = try EventLoop()
        network = try SocketNetwork(loop: loop, resolver: Resolver(), options: options)
        _ = try SignalSource(loop: loop, signals: Self.handled) { [unowned self] _ in current?.stop(at: loop.now) }
    }

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
    /// - Parameter bar: shows progress and trouble after each step; `nil` for neither.
    func run(_ run: any Run, showing bar: ProgressBar? = nil) throws {
        current = run
        self.bar = bar
        try loop.run(owner: self)
        bar?.clear()
    }

    var nextDeadline: Instant? {
        [current?.nextDeadline, bar.map { _ in now + ProgressBar.interval }].compactMap(\.self).min()
    }

    /// ``endTurn(at:)`` does the due work.
    func expire(at now: Moment) {}

    func endTurn(at now: Moment) {
        guard let current else { return loop.stop() }
        current.step(at: now)
        bar?.show(current, at: now.instant)
        if current.isFinished { loop.stop() }
    }
}
