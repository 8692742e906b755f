package import Core
import Glibc

/// Drives engines over TCP sockets, as a part of a loop.
///
/// In a turn each ready socket is read, and each engine drained once that was called or tells nobody when its owner
/// calls it (``Engine/announceChanges(to:)``); what an engine says leaves in one write. All calls are made on the
/// loop's thread, engines may be connected and disconnected at any time, and an engine is told the end of its transport
/// exactly once (unless ``disconnect(_:)`` ended it).
package final class SocketNetwork: Network {
    /// Bytes of one read; all connections share one buffer of this size.
    package static let readSize = 64 * 1024
    /// The most bytes that one turn reads from one socket: the others get their turn.
    package static let readBudget = 256 * 1024
    /// An engine is not drained while more bytes than this wait for its socket.
    ///
    /// So a connection holds at most this and one drain more, however slow its peer reads.
    package static let unsentLimit = 256 * 1024
    /// How long a peer may take to accept the last bytes, and then to close its end.
    package static let farewellTime = Duration.seconds(5)

    unowned let loop: EventLoop
    let buffer = ReadBuffer(size: SocketNetwork.readSize)
    let options: SocketOptions
    let localAddress: SocketAddress?
    private let resolver: Resolver
    private let replies: Mailbox<ResolverReply>
    private let shuffle: ([SocketAddress]) -> [SocketAddress]
    /// By ``SocketConnection/number``.
    private var members: [SocketConnection?] = []
    private var freeNumbers: [Int] = []
    private var agenda = Agenda()
    /// Those that this turn flushes.
    private var flushed: [Int] = []
    /// Connections whose engines are asked in every turn.
    private var asked: [Int] = []
    private var lastQuery: UInt64 = 0

    /// Joins `loop`, which owns the network from then on.
    ///
    /// - Parameters:
    ///   - options: Of every socket. A loop may have several networks, each with its own.
    ///   - random: Chooses the order in which a name's addresses are tried.
    package init<Random: RandomNumberGenerator>(
        loop: EventLoop, resolver: Resolver, options: SocketOptions = SocketOptions(),
        random: Random = SystemRandomNumberGenerator()
    ) throws(EventLoopError) {
        self.loop = loop
        self.resolver = resolver
        self.options = options
        localAddress = try Self.localAddress(options)
        var random = random
        shuffle = { $0.shuffled(using: &random) }
        replies = try Mailbox()
        try loop.attach(replies) { [unowned self] reply in resolved(reply) }
        loop.add(self)
    }

    private static func localAddress(_ options: SocketOptions) throws(EventLoopError) -> SocketAddress? {
        guard let host = options.localAddress else { return nil }
        do throws(SystemError) {
            return try AddressLookup.digits(Endpoint(host: host, port: 0))
        } catch {
            throw EventLoopError("cannot connect from \(host)", error)
        }
    }

    /// Connections that are open, in either direction.
    package var openConnections: Int {
        connections.count { $0.phase == .open }
    }

    /// Everything that has a descriptor or is on the way to one: open connections, connects under way, and closed
    /// connections whose peer has not closed its end yet.
    package var connectionCount: Int {
        members.count - freeNumbers.count
    }

    // MARK: Network

    package func connect(_ engine: any Engine, to endpoint: Endpoint, timeout: Duration) {
        precondition(connection(of: engine) == nil, "an engine has one connection")
        insert(SocketConnection(engine, to: endpoint, timeout: timeout, in: self))
    }

    /// Drives `engine` over a connected socket, such as an accepted one.
    ///
    /// As with ``connect(_:to:timeout:)``, the engine hears of it after this call has returned.
    package func adopt(_ socket: consuming Descriptor, _ engine: any Engine) {
        precondition(connection(of: engine) == nil, "an engine has one connection")
        insert(SocketConnection(engine, over: socket, in: self))
    }

    package func disconnect(_ engine: any Engine) {
        connection(of: engine)?.close()
    }

    // MARK: Connections

    var connections: some Sequence<SocketConnection> { members.lazy.compactMap(\.self) }

    private func insert(_ connection: SocketConnection) {
        if let number = freeNumbers.popLast() {
            connection.number = number
            members[number] = connection
        } else {
            connection.number = members.count
            members.append(connection)
        }
        let announces = connection.engine?.announceChanges { [weak self, weak connection] in
            guard let self, let connection, connection.phase != .closed else { return }
            wake(connection)
        }
        if announces != true { asked.append(connection.number) }
        wake(connection)
        loop.requestTurn()
    }

    /// The connection has something to do at the end of this turn; at the end of the next one if this has ended.
    func wake(_ connection: SocketConnection) {
        agenda.wake(connection.number)
    }

    /// Forgets a closed connection.
    func remove(_ connection: SocketConnection) {
        let number = connection.number
        members[number] = nil
        freeNumbers.append(number)
        agenda.remove(number)
        asked.removeAll { $0 == number }
    }

    private func connection(of engine: any Engine) -> SocketConnection? {
        connections.first { $0.engine === engine }
    }

    // MARK: Resolving

    /// Asks for addresses; the answer goes to the connection that waits for the query of the number returned.
    func resolve(_ endpoint: Endpoint, before deadline: Instant) -> UInt64 {
        lastQuery += 1
        resolver.ask(ResolverQuery(number: lastQuery, endpoint: endpoint, deadline: deadline, mailbox: replies))
        return lastQuery
    }

    private func resolved(_ reply: ResolverReply) {
        // One that gave up, or whose engine was disconnected, does not wait any more.
        guard let connection = connections.first(where: { $0.query == reply.number }) else { return }
        wake(connection)
        connection.resolved(reply.answer, at: loop.now)
    }

    /// A name's addresses in the order in which they are to be tried: by chance, with the families in turn, and those
    /// that failed lately last.
    func ordered(_ addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
        let usable = addresses.filter { localAddress == nil || $0.family == localAddress?.family }
        return failedAddresses.last(ConnectAttempts.alternatingFamilies(shuffle(usable)), at: now)
    }

    var failedAddresses: FailedAddresses { resolver.failedAddresses }
}

extension SocketNetwork: LoopParticipant {
    package var nextDeadline: Instant? { agenda.nextDeadline }

    package func expire(at now: Moment) {
        while let number = agenda.popDue(at: now.instant) { members[number]?.expire(at: now) }
    }

    package func flush(at now: Moment) {
        for number in asked { agenda.wake(number) }
        agenda.takeWoken(into: &flushed)
        for number in flushed {
            // Flushing one connection may close another, and open one in its place.
            guard let connection = members[number] else { continue }
            connection.flush(at: now)
            if connection.phase != .closed { agenda.schedule(number, at: connection.nextDeadline) }
        }
    }
}
