import AMQP
import Core
import DequeModule

/// Publishes that the broker may have closed the connection for, and routes that it certainly does so for.
///
/// A close does not say which publish it is about. So each that was outstanding goes again alone, and one that is alone
/// at ``closesUntilQuarantine`` more closes is what the broker does not take. What such a route is known for spares the
/// next publish that way its own closes: it is not tried while the quarantine lasts, and alone after that.
struct SuspectPublishes {
    /// How often the broker closes the connection over a publish that is outstanding alone, until it is given up.
    static let closesUntilQuarantine = 2
    /// Routes that are remembered; beyond that, the one that is tried again first is forgotten.
    static let maximumRoutes = 256

    /// What a route is known by: without a routing key it means all of an exchange.
    private struct RouteName: Hashable {
        var exchange: ArraySlice<UInt8>
        var routingKey: ArraySlice<UInt8>?
    }

    private struct Refusal {
        var until: Instant
        var reply: String
    }

    /// What is known of a route.
    enum Verdict: Equatable {
        case open
        /// It may work again: a publish goes there alone.
        case doubtful
        /// The broker's words.
        case refused(String)
    }

    private var waiting = Deque<PendingPublication>()
    /// The one that is to be outstanding alone.
    private(set) var candidate: PendingPublication?
    /// Whether the candidate is written, and nothing else.
    private(set) var isTrying = false
    /// Ended with the connection, whose cause is not known yet.
    private var lost: [PendingPublication] = []
    private var routes: [RouteName: Refusal] = [:]

    /// Whether there is nothing to be tried alone.
    var isEmpty: Bool {
        candidate == nil && waiting.isEmpty
    }

    /// Publishes that wait, or are tried, alone.
    var count: Int {
        waiting.count + (candidate == nil ? 0 : 1)
    }

    /// Everything that is neither written nor in another line.
    var elements: [PendingPublication] {
        (isTrying ? [] : [candidate].compactMap(\.self)) + lost + waiting
    }

    mutating func append(_ pending: PendingPublication) {
        waiting.append(pending)
    }

    /// When the one that waits first began to wait.
    var waitingSince: Instant? {
        isTrying ? waiting.first?.waitingSince : (candidate ?? waiting.first)?.waitingSince
    }

    /// Takes out the one that waits first.
    mutating func popWaiting() -> PendingPublication? {
        guard !isTrying, let first = candidate else { return waiting.popFirst() }
        candidate = nil
        return first
    }

    /// The next one to go alone; it stays the candidate until its end is known.
    mutating func next() -> PendingPublication? {
        if candidate == nil { candidate = waiting.popFirst() }
        return candidate
    }

    /// The candidate was written.
    mutating func tried() {
        isTrying = true
    }

    /// The candidate goes another way.
    mutating func dropCandidate() {
        candidate = nil
        isTrying = false
    }

    /// The connection ended before the confirm of a publish.
    mutating func lost(_ pending: PendingPublication) {
        lost.append(pending)
    }

    /// What ended with the connection, and whether it was the candidate alone.
    mutating func takeLost() -> (all: [PendingPublication], wasAlone: Bool) {
        defer {
            lost = []
            isTrying = false
        }
        return (lost, isTrying)
    }

    // MARK: Routes

    /// The broker closed the connection over this publish alone. Remembers the route if that is what it was about.
    mutating func refused(_ publication: Publication, _ error: AMQPError, until: Instant) {
        guard let name = Self.name(of: publication, blamedBy: error) else { return }
        if routes.count >= Self.maximumRoutes, routes[name] == nil {
            if let first = routes.min(by: { $0.value.until < $1.value.until }) { routes[first.key] = nil }
        }
        routes[name] = Refusal(until: until, reply: error.message)
    }

    /// The broker took a publish.
    mutating func taken(_ publication: Publication) {
        guard !routes.isEmpty else { return }
        for name in Self.names(of: publication) { routes[name] = nil }
    }

    func verdict(on pending: PendingPublication, at now: Instant) -> Verdict {
        guard !routes.isEmpty else { return .open }
        for name in Self.names(of: pending.publication) {
            guard let refusal = routes[name] else { continue }
            return now < refusal.until ? .refused(refusal.reply) : .doubtful
        }
        return .open
    }

    private static func names(of publication: borrowing Publication) -> [RouteName] {
        [
            RouteName(exchange: publication.exchange, routingKey: nil),
            RouteName(exchange: publication.exchange, routingKey: publication.routingKey),
        ]
    }

    /// A missing exchange takes nothing; a direct reply-to that nobody made up well is refused whoever replies. Other
    /// closes are about the message itself. Source: rabbitmq.com/docs/direct-reply-to.
    private static func name(of publication: Publication, blamedBy error: AMQPError) -> RouteName? {
        if error.code == .notFound { return RouteName(exchange: publication.exchange, routingKey: nil) }
        guard publication.exchange.isEmpty, publication.routingKey.starts(with: "amq.rabbitmq.reply-to".utf8) else {
            return nil
        }
        return RouteName(exchange: [], routingKey: publication.routingKey)
    }
}
