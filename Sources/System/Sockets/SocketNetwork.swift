package import Core
import Glibc

/// Drives engines over TCP sockets, as a part of a loop.
///
/// In a turn each ready socket is read. Each engine is drained once if it was called, or if it does not announce
/// changes (``Engine/announceChanges(to:)``); its output is sent in one write. All calls are made on the loop's thread,
/// and engines may be connected and disconnected at any time. An engine gets the end of its transport exactly once,
/// unless ``disconnect(_:)`` ended it.
package final class SocketNetwork: Network {
    /// The size of one read, in bytes; all connections share one buffer.
    package static let readSize = 64 * 1024
    /// The maximum of bytes that one turn reads from one socket, so that the others are served.
    package static let readBudget = 256 * 1024
    /// An engine is not drained while more bytes than this wait for its socket.
    ///
    /// A connection thus holds at most this and one drain more, even if its peer reads slowly.
    package static let unsentLimit = 256 * 1024
    /// The longest time for a peer to accept the last bytes, and then to close its end.
    package static let closeGracePeriod = Duration.seconds(5)

    unowned let loop: EventLoop
    let buffer = ReadBuffer(size: SocketNetwork.readSize)
    let options: SocketOptions
    private let resolver: Resolver
    private let responses: Mailbox<ResolverResponse>
    private let shuffle: ([SocketAddress]) -> [SocketAddress]
    /// By ``SocketConnection/number``.
    private var members: [SocketConnection?] = []
    private var freeNumbers: [Int] = []
    private var agenda = Agenda()
    /// Connections whose engines do not announce changes, flushed in every turn.
    private var polled: [Int] = []
    private var lastQuery: UInt64 = 0

    /// Joins `loop`, which then owns the network.
    ///
    /// - Parameters:
    ///   - options: Of every socket. A loop may have several networks with different options.
    ///   - random: Determines the order of a name's addresses.
    package init<Random: RandomNumberGenerator>(
        loop: EventLoop, resolver: Resolver, options: SocketOptions = SocketOptions(),
        random: Random = SystemRandomNumberGenerator()
    ) throws(EventLoopError) {
        self.loop = loop
        self.resolver = resolver
        self.options = options
        var random = random
        shuffle = { $0.shuffled(using: &random) }
        responses = try Mailbox()
        try loop.attach(responses) { [unowned self] response in resolved(response) }
        loop.add(self)
    }

    // MARK: Network

    package func connect(
        _ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration
    ) {
        precondition(connection(of: engine) == nil, "an engine has one connection")
        insert(SocketConnection(engine, to: endpoint, through: proxy, timeout: timeout, in: self))
    }

    /// Drives `engine` over a connected socket, such as an accepted one.
    ///
    /// As with ``connect(_:to:timeout:)``, the engine is called only after this call has returned.
    package func adopt(_ socket: consuming Descriptor, _ engine: any Engine) {
        precondition(connection(of: engine) == nil, "an engine has one connection")
        let peer = SocketAddress(ofPeer: socket)?.endpoint ?? Endpoint(host: "a peer that has disconnected", port: 0)
        let connection = SocketConnection(engine, to: peer, through: nil, timeout: .zero, in: self)
        connection.socket = consume socket
        insert(connection)
    }

    package func disconnect(_ engine: any Engine) {
        connection(of: engine)?.close()
    }

    // MARK: Connections

    var connections: some Sequence<SocketConnection> { members.lazy.compactMap(\.self) }

    /// Makes the waker of a new connection. Its number may have belonged to a connection that has closed.
    func makeWaker() -> Waker {
        if let number = freeNumbers.popLast() { return agenda.waker(of: number) }
        members.append(nil)
        return agenda.waker(of: members.count - 1)
    }

    private func insert(_ connection: SocketConnection) {
        members[connection.number] = connection
        if connection.engine?.announceChanges(to: connection.waker) != true { polled.append(connection.number) }
        connection.waker.wake()
        loop.requestTurn()
    }

    func remove(_ connection: SocketConnection) {
        let number = connection.number
        members[number] = nil
        freeNumbers.append(number)
        agenda.remove(number)
        polled.removeAll { $0 == number }
    }

    private func connection(of engine: any Engine) -> SocketConnection? {
        connections.first { $0.engine === engine }
    }

    // MARK: Resolving

    /// Requests the addresses of a name; the response goes to the connection with the returned query number.
    func resolve(_ endpoint: Endpoint, before deadline: Instant) -> UInt64 {
        lastQuery += 1
        resolver.ask(ResolverQuery(number: lastQuery, endpoint: endpoint, deadline: deadline, mailbox: responses))
        return lastQuery
    }

    private func resolved(_ response: ResolverResponse) {
        // Connections that timed out or were disconnected no longer wait.
        guard let connection = connections.first(where: { $0.query == response.number }) else { return }
        connection.waker.wake()
        connection.resolved(response.result, at: loop.now)
    }

    /// A name's addresses in the order of the attempts: random, with alternating families, and those with a recent
    /// failure last.
    func ordered(_ addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
        failedAddresses.last(ConnectAttempts.alternatingFamilies(shuffle(addresses)), at: now)
    }

    var failedAddresses: FailedAddresses { resolver.failedAddresses }
}

extension SocketNetwork: LoopParticipant {
    package var nextDeadline: Instant? { agenda.nextDeadline }

    package func expire(at now: Moment) {
        while let number = agenda.popDue(at: now.instant) { members[number]?.expire(at: now) }
    }

    package func flush(at now: Moment) {
        for number in polled { agenda.wake(number) }
        guard agenda.hasWoken else { return }
        agenda.takeWoken()
        for number in agenda.taken {
            // Flushing one connection may close another, and reuse its number. Engines that have ended may wake
            // theirs.
            guard let connection = members[number] else { continue }
            connection.flush(at: now)
            if connection.phase != .closed { agenda.schedule(number, at: connection.nextDeadline) }
        }
    }
}
