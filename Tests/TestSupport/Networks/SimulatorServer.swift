import Core
package import Simulator
import System

/// A simulator on a separate thread.
package final class SimulatorServer: Sendable {
    private enum Command: Sendable {
        case applyFaults([ScriptAction])
        case stop
    }

    package let port: UInt16
    package let ledger: RecordedLedger
    package let channels: ChannelRegistry
    /// The PEM certificate that clients must trust; `nil` if the options brought a certificate.
    package let authorityPEM: String?
    private let commands: Mailbox<Command>
    private let thread: Thread

    /// Listens when this returns; runs until ``stop()``.
    package init(_ options: SimulatorOptions = SimulatorOptions()) throws {
        let loop = try EventLoop()
        let network = try SocketNetwork(loop: loop, resolver: Resolver())
        let connections = SimulatedConnections()
        let service = try SimulatorService(options, loop: loop) { socket, engine in
            connections.add(engine)
            network.adopt(socket, engine)
        }
        let commands = try Mailbox<Command>()
        port = service.port
        ledger = RecordedLedger(observing: service.context)
        channels = service.context.channels
        authorityPEM = service.authorityPEM
        self.commands = commands
        let owner = Owner(loop: loop, network: network, service: service)
        try loop.attach(commands) { [unowned loop] command in
            switch command {
            case .applyFaults(let actions): connections.applyFaults(actions, at: loop.now.instant)
            case .stop: loop.stop()
            }
        }
        thread = try Thread.start(name: "simulator", stackSize: 1 << 20) { owner.run() }
    }

    /// Disturbs all open connections at once.
    package func applyFaults(_ actions: [ScriptAction]) {
        commands.post(.applyFaults(actions))
    }

    /// Closes all connections and waits for the thread's end. Call exactly once.
    package func stop() {
        commands.post(.stop)
        _ = thread.join(until: .distantFuture)
    }

    /// The state on the thread.
    private final class Owner: LoopOwner {
        private let loop: EventLoop
        private let network: SocketNetwork
        private let service: SimulatorService

        init(loop: EventLoop, network: SocketNetwork, service: SimulatorService) {
            self.loop = loop
            self.network = network
            self.service = service
        }

        let nextDeadline: Instant? = nil

        func run() {
            do {
                try loop.run(owner: self)
            } catch {
                // This thread has no caller to which it could throw the error.
                fatalError("the simulator's loop has failed: \(error)")
            }
            service.close()
        }

        func expire(at now: Moment) {}

        func endTurn(at now: Moment) {
            service.context.synchronize(at: now)
        }
    }
}
