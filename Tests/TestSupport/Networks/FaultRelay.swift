import Core
import Glibc
import Synchronization
import System

/// A TCP relay between two ports of 127.0.0.1, on a separate thread: it swallows or cuts the
/// traffic. Only for tests of the kernel; elsewhere ``MemoryNetwork`` does it on virtual time.
///
/// It buffers all input in memory, so it does not exercise flow control.
package final class FaultRelay: Sendable {
    fileprivate enum Command: Sendable {
        case swallow(Bool)
        case reset
        case loseTarget
        case stop
    }

    package let port: UInt16
    private let counter: Counter
    private let commands: Mailbox<Command>
    private let thread: Thread

    fileprivate final class Counter: Sendable {
        let accepted = Atomic(0)
    }

    /// Listens when this returns, until ``stop()``.
    package init(to target: UInt16) throws {
        let loop = try EventLoop()
        let commands = try Mailbox<Command>()
        let counter = Counter()
        let relay = try Relay(loop, to: target, counter)
        port = relay.port
        self.commands = commands
        self.counter = counter
        try loop.attach(commands) { [unowned relay] in relay.execute($0) }
        thread = try Thread.start(name: "relay", stackSize: 1 << 20) { relay.run() }
    }

    package var accepted: Int { counter.accepted.load(ordering: .relaxed) }

    /// Whether all input is swallowed, ends included, and neither end is notified.
    package func swallow(_ swallows: Bool) {
        commands.post(.swallow(swallows))
    }

    /// Ends every connection with a reset.
    package func reset() {
        commands.post(.reset)
    }

    /// Ends every connection to the target without closing the clients' ends: they are half-open from then on.
    package func loseTarget() {
        commands.post(.loseTarget)
    }

    /// Ends everything and waits for the thread. Call exactly once.
    package func stop() {
        commands.post(.stop)
        _ = thread.join(until: .distantFuture)
    }
}

/// The state on the relay's thread.
private final class Relay: LoopOwner {
    private let loop: EventLoop
    private let network: SocketNetwork
    private let target: Endpoint
    private let counter: FaultRelay.Counter
    private var listener: SocketListener!
    private var clients: [(end: End, descriptor: Int32)] = []
    fileprivate var swallows = false
    var port: UInt16 { listener.port }

    init(_ loop: EventLoop, to target: UInt16, _ counter: FaultRelay.Counter) throws {
        self.loop = loop
        self.counter = counter
        self.target = Endpoint(host: "127.0.0.1", port: target)
        network = try SocketNetwork(loop: loop, resolver: Resolver())
        listener = try SocketListener(loop: loop, address: "127.0.0.1", port: 0) { [unowned self] socket in
            accept(socket)
        }
    }

    func run() {
        do {
            try loop.run(owner: self)
        } catch {
            preconditionFailure("the relay's loop failed: \(error)")
        }
    }

    private func accept(_ socket: consuming Descriptor) {
        counter.accepted.add(1, ordering: .relaxed)
        let (client, server) = (End(self), End(self))
        client.peer = server
        server.peer = client
        clients.append((client, socket.number))
        network.adopt(socket, client)
        network.connect(server, to: target, timeout: .seconds(10))
    }

    func execute(_ command: FaultRelay.Command) {
        switch command {
        case .swallow(let swallows): self.swallows = swallows
        case .reset:
            for (end, descriptor) in clients where !end.hasEnded {
                var option = linger(l_onoff: 1, l_linger: 0)
                let size = socklen_t(MemoryLayout<linger>.size)
                _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size)
                network.disconnect(end)
                if let peer = end.peer { network.disconnect(peer) }
                end.part()
            }
            clients = []
        case .loseTarget:
            for (end, _) in clients {
                guard let peer = end.peer else { continue }
                network.disconnect(peer)
                end.peer = nil
            }
        case .stop:
            for (end, _) in clients { end.part() }
            loop.stop()
        }
    }

    let nextDeadline: Instant? = nil
    func expire(at now: Moment) {}
    func endTurn(at now: Moment) {
        clients.removeAll { $0.end.hasEnded }
    }
}

/// One side of a relayed connection.
private final class End: Engine {
    private unowned let relay: Relay
    /// A strong reference in both directions, until either side has ended.
    var peer: End?
    private(set) var hasEnded = false
    private var output: [UInt8] = []
    var isEstablished: Bool { true }
    private(set) var wantsDisconnect = false

    init(_ relay: Relay) {
        self.relay = relay
    }

    func transportOpened(at now: Instant) {}

    func receive(_ bytes: Span<UInt8>, at now: Instant) {
        if !relay.swallows { peer?.output.append(bytes) }
    }

    func transportClosed(_ failure: TransportError?, at now: Instant) {
        hasEnded = true
        guard let peer else { return }
        part()
        if !relay.swallows { peer.wantsDisconnect = true }
    }

    func part() {
        peer?.peer = nil
        peer = nil
    }

    func drain(into queue: inout ByteQueue) {
        queue.append(output)
        output.removeAll(keepingCapacity: true)
    }

    let nextDeadline: Instant? = nil
    func expire(at now: Instant) {}
}
