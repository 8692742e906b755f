package import Core
import System

/// An in-memory network on virtual time, with latency and seeded faults: engines at both ends, no sockets.
///
/// A test calls ``settle(_:)`` until nothing moves at this instant, and ``advance(by:deadline:turn:)`` to advance time.
package final class MemoryNetwork: Network {
    /// The faults, each as a probability.
    package struct Faults {
        /// A connection attempt is refused.
        package var refusal = 0.0
        /// A connection attempt gets no reply, and fails at its timeout.
        package var blackHole = 0.0
        /// One end's output of a turn is truncated, and the connection cut.
        package var cut = 0.0
        /// One end's output of a turn, and everything after it, is lost in both directions without notice.
        package var silence = 0.0

        package init(refusal: Double = 0, blackHole: Double = 0, silence: Double = 0) {
            (self.refusal, self.blackHole, self.silence) = (refusal, blackHole, silence)
        }
    }

    /// Two engines and the bytes in flight between them.
    package final class Link {
        package let client: any Engine
        package let server: any Engine
        package let endpoint: Endpoint
        /// While true, no bytes move and neither end is notified.
        package var isFrozen = false
        fileprivate var isOpened = false
        /// Whether the client's and the server's end exists.
        fileprivate var isAlive = [true, true]
        /// Whether each end announces its owner's calls, and whether it was called since the last poll. An announcing
        /// end is polled only after a call, which reveals missing announcements.
        fileprivate var announces = [false, false]
        fileprivate var wasCalled = [true, true]
        private var agenda = Agenda()
        fileprivate var deadlines: [Instant?] = [nil, nil]
        /// The bytes sent by the client and by the server.
        fileprivate var pipes = [Pipe(), Pipe()]

        fileprivate init(client: any Engine, server: any Engine, endpoint: Endpoint) {
            self.client = client
            self.server = server
            self.endpoint = endpoint
            for end in 0...1 { announces[end] = engine(end).announceChanges(to: agenda.waker(of: end)) }
        }

        /// Polls an end for output and its deadline, unless it would have announced them.
        fileprivate func drain(_ end: Int, into output: inout ByteQueue) {
            agenda.takeWoken()
            for called in agenda.taken { wasCalled[called] = true }
            guard wasCalled[end] || !announces[end] else { return }
            wasCalled[end] = false
            engine(end).drain(into: &output)
            deadlines[end] = engine(end).nextDeadline
        }

        fileprivate func nextDeadline(_ end: Int) -> Instant? {
            announces[end] ? deadlines[end] : engine(end).nextDeadline
        }

        /// Whether both ends are joined.
        package var isOpen: Bool { isOpened && isAlive == [true, true] }

        fileprivate func engine(_ end: Int) -> any Engine {
            end == 0 ? client : server
        }
    }

    /// One end's output of a turn, and its fate. The fate is drawn on sending: the byte count and the split depend on
    /// signature lengths, and must not change a seed's course.
    fileprivate struct Piece {
        enum Fate { case arrives, isCut, isSilenced }

        let due: Instant
        var bytes: ArraySlice<UInt8>
        let fate: Fate
    }

    fileprivate struct Pipe {
        var pieces: [Piece] = []
        /// The sender closes when everything has arrived.
        var isEnding = false
    }

    /// Makes the other end; `nil` refuses the connection.
    package var accept: (Endpoint) -> (any Engine)?
    /// A proxy's answer to the lines of a CONNECT request, and the target's end of an open tunnel. It responds at once.
    package var openTunnel: (Endpoint, [String]) -> (response: String, target: (any Engine)?) = { _, _ in
        ("HTTP/1.1 502 Bad Gateway", nil)
    }
    /// The faults on connections to an endpoint.
    package var faults: [Endpoint: Faults] = [:]
    package var latency = Duration.zero
    /// At most this many bytes are delivered at once; a small number splits frames.
    package var largestPiece = Int.max
    /// The error message of a run that cannot continue.
    package var label = ""
    package private(set) var now: Instant
    /// Open and opening connections, oldest first.
    package private(set) var links: [Link] = []
    /// Connection attempts, and the number of connections lost by a fault.
    package private(set) var attempts = 0
    package private(set) var losses = 0

    private let start: Moment
    private var random: SplitMix64
    private var failures: [(engine: any Engine, due: Instant, error: TransportError)] = []

    package init(
        seed: UInt64 = 1,
        start: Moment = Moment(
            instant: Instant(nanoseconds: 1_000_000_000), wall: WallTime(milliseconds: 1_790_000_000_000)),
        accept: @escaping (Endpoint) -> (any Engine)?
    ) {
        random = SplitMix64(seed: seed)
        self.start = start
        self.accept = accept
        now = start.instant
    }

    /// The virtual time of both clocks.
    package var moment: Moment {
        let passed = (now - start.instant).nanoseconds / 1_000_000
        return Moment(instant: now, wall: WallTime(milliseconds: start.wall.milliseconds + passed))
    }

    // MARK: Network

    package func connect(_ engine: any Engine, to endpoint: Endpoint, through proxy: ProxyAddress?, timeout: Duration) {
        attempts += 1
        if let proxy {
            connect(engine, ProxyTunnel(to: endpoint, through: proxy))
        } else if happens(faults[endpoint]?.blackHole) {
            let error = TransportError(.init(rawValue: "ETIMEDOUT"), "\(endpoint) does not answer")
            failures.append((engine, now + timeout, error))
        } else if !happens(faults[endpoint]?.refusal), let server = accept(endpoint) {
            links.append(Link(client: engine, server: server, endpoint: endpoint))
        } else {
            let error = TransportError(.init(rawValue: "ECONNREFUSED"), "\(endpoint) refused")
            failures.append((engine, now, error))
        }
    }

    private func connect(_ engine: any Engine, _ tunnel: ProxyTunnel) {
        var tunnel = tunnel
        let lines = String(decoding: tunnel.request, as: UTF8.self).split(separator: "\r\n").map(String.init)
        let (response, target) = openTunnel(tunnel.proxy.endpoint, lines)
        do throws(TransportError) {
            _ = try tunnel.receive(Array("\(response)\r\n\r\n".utf8).span)
            guard let target else { preconditionFailure("an open tunnel leads to a target") }
            links.append(Link(client: engine, server: target, endpoint: tunnel.target))
        } catch {
            failures.append((engine, now, error))
        }
    }

    package func disconnect(_ engine: any Engine) {
        failures.removeAll { $0.engine === engine }
        for link in links {
            guard let end = (0...1).first(where: { link.engine($0) === engine }) else { continue }
            link.isAlive[end] = false
            if !link.isFrozen { close(link, nil) }
        }
        forget()
    }

    // MARK: Faults

    /// Resets a connection: both ends are notified.
    package func cut(_ link: Link) {
        losses += 1
        close(link, TransportError(.init(rawValue: "ECONNRESET"), "the connection was reset"))
        forget()
    }

    package func cutAll(to endpoint: Endpoint) {
        for link in links where link.endpoint == endpoint { cut(link) }
    }

    private func happens(_ probability: Double?) -> Bool {
        guard let probability, probability > 0 else { return false }
        return Double.random(in: 0..<1, using: &random) < probability
    }

    // MARK: Time

    /// Delivers everything due until there is no more output; `turn` is called in between, and returns whether it did
    /// something that no engine shows.
    package func settle(_ turn: () -> Bool = { false }) {
        var rounds = 0
        var isBusy = true
        while isBusy {
            rounds += 1
            precondition(rounds < 100_000, "somebody never comes to rest \(label)")
            isBusy = turn()
            if refuse() { isBusy = true }
            for link in links where move(link) { isBusy = true }
            forget()
        }
    }

    /// The next event without input: a piece arrives, or an engine's deadline passes.
    package var nextDeadline: Instant? {
        var earliest: Instant?
        func consider(_ deadline: Instant?) {
            guard let deadline else { return }
            earliest = min(earliest ?? deadline, deadline)
        }
        for failure in failures { consider(failure.due) }
        for link in links {
            for end in 0...1 {
                if link.isAlive[end] { consider(link.nextDeadline(end)) }
                if !link.isFrozen { consider(link.pipes[end].pieces.first?.due) }
            }
        }
        return earliest
    }

    /// Advances time, stopping at each due event; `deadline` is that of the engines' owners, who act in `turn`.
    package func advance(by duration: Duration, deadline: () -> Instant? = { nil }, turn: () -> Bool = { false }) {
        let end = now + duration
        settle(turn)
        while let next = [nextDeadline, deadline()].compactMap(\.self).min(), next <= end {
            now = max(now, next)
            settle(turn)
        }
        now = end
        settle(turn)
    }

    // MARK: Delivery

    private func refuse() -> Bool {
        let refused = failures.filter { $0.due <= now }
        failures.removeAll { $0.due <= now }
        for (engine, _, error) in refused { engine.transportClosed(error, at: now) }
        return !refused.isEmpty
    }

    /// Handles what is due on one connection. Returns whether there was something.
    private func move(_ link: Link) -> Bool {
        var moved = false
        if !link.isOpened {
            link.isOpened = true
            link.server.transportOpened(at: now)
            link.client.transportOpened(at: now)
            link.wasCalled = [true, true]
            moved = true
        }
        for end in 0...1 where link.isAlive[end] {
            if let due = link.nextDeadline(end), due <= now {
                link.wasCalled[end] = true
                link.engine(end).expire(at: now)
                moved = true
            }
        }
        for end in 0...1 where link.isAlive[end] { moved = carry(link, from: end) || moved }
        return moved
    }

    private func carry(_ link: Link, from end: Int) -> Bool {
        let sender = link.engine(end)
        let receiver = link.engine(1 - end)
        var output = ByteQueue()
        link.drain(end, into: &output)
        var moved = !output.isEmpty
        if link.isFrozen {
            guard sender.wantsDisconnect else { return moved }
            link.isAlive[end] = false
            sender.transportClosed(nil, at: now)
            return true
        }
        if !output.isEmpty { link.pipes[end].pieces.append(piece(output.copy(), faults[link.endpoint])) }
        if sender.wantsDisconnect { link.pipes[end].isEnding = true }
        while let first = link.pipes[end].pieces.first, first.due <= now, link.isOpen, !link.isFrozen {
            moved = true
            let part = first.bytes.prefix(largestPiece)
            let isWhole = part.count == first.bytes.count
            link.pipes[end].pieces[0].bytes = first.bytes.dropFirst(part.count)
            if isWhole { link.pipes[end].pieces.removeFirst() }
            if !part.isEmpty {
                link.wasCalled[1 - end] = true
                receiver.receive(part.span, at: now)
            }
            guard isWhole, first.fate != .arrives else { continue }
            if first.fate == .isCut {
                cut(link)
            } else {
                losses += 1
                link.isFrozen = true
            }
            return true
        }
        if link.pipes[end].isEnding, link.pipes[end].pieces.isEmpty, link.isOpen {
            close(link, nil)
            moved = true
        }
        return moved
    }

    private func piece(_ bytes: [UInt8], _ faults: Faults?) -> Piece {
        let due = now + latency
        if happens(faults?.silence) { return Piece(due: due, bytes: [], fate: .isSilenced) }
        guard happens(faults?.cut) else { return Piece(due: due, bytes: bytes[...], fate: .arrives) }
        let kept = Int(Double(bytes.count + 1) * Double.random(in: 0..<1, using: &random))
        return Piece(due: due, bytes: bytes.prefix(kept), fate: .isCut)
    }

    /// Notifies both existing ends.
    private func close(_ link: Link, _ failure: TransportError?) {
        let alive = link.isAlive
        link.isAlive = [false, false]
        for end in 0...1 where alive[end] && (link.isOpened || end == 0) {
            link.engine(end).transportClosed(failure, at: now)
        }
    }

    private func forget() {
        links.removeAll { $0.isAlive == [false, false] }
    }
}
