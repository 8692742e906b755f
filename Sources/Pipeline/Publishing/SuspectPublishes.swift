import AMQP
import Core
import DequeModule

/// Publishes over which the broker may have closed the connection, and routes over which it certainly does.
///
/// A close does not name the publish that caused it, so each outstanding one is repeated alone. After
/// ``closesUntilQuarantine`` closes alone, a publish is the proven cause. Its route is remembered: further publishes to
/// it are diverted during the quarantine, and tried alone afterwards.
struct SuspectPublishes {
    /// The number of closes with only this publish outstanding after which it is given up.
    static let closesUntilQuarantine = 2
    /// The maximum of remembered routes; above it, the one with the earliest end of quarantine is forgotten.
    static let maximumRoutes = 256

    /// Identifies a route; without a routing key, the whole exchange.
    private struct RouteName: Hashable {
        var exchange: ArraySlice<UInt8>
        var routingKey: ArraySlice<UInt8>?
    }

    private struct Refusal {
        var until: Instant
        var replyText: String
    }

    /// The state of a route.
    enum Verdict: Equatable {
        case open
        /// The quarantine has ended: the next publish is tried alone.
        case doubtful
        /// With the broker's message.
        case refused(String)
    }

    private var waiting = Deque<PendingPublication>()
    /// The publish to be outstanding alone.
    private(set) var candidate: PendingPublication?
    /// Whether only the candidate is outstanding.
    private(set) var isTrying = false
    /// Unconfirmed publishes of a lost connection whose close reason is not processed yet.
    private var lost: [PendingPublication] = []
    private var routes: [RouteName: Refusal] = [:]

    /// Whether no publish has to be tried alone.
    var isEmpty: Bool {
        candidate == nil && waiting.isEmpty
    }

    /// Publishes that wait to be tried alone, or are being tried.
    var count: Int {
        waiting.count + (candidate == nil ? 0 : 1)
    }

    /// All publishes of this value that are not outstanding.
    var elements: [PendingPublication] {
        (isTrying ? [] : [candidate].compactMap(\.self)) + lost + waiting
    }

    mutating func append(_ pending: PendingPublication) {
        waiting.append(pending)
    }

    /// Since when the first publish waits.
    var waitingSince: Instant? {
        isTrying ? waiting.first?.waitingSince : (candidate ?? waiting.first)?.waitingSince
    }

    /// Removes the first waiting publish.
    mutating func popWaiting() -> PendingPublication? {
        guard !isTrying, let first = candidate else { return waiting.popFirst() }
        candidate = nil
        return first
    }

    /// The next publish to be tried alone; it stays the candidate until it has ended.
    mutating func next() -> PendingPublication? {
        if candidate == nil { candidate = waiting.popFirst() }
        return candidate
    }

    /// The candidate was written.
    mutating func candidateWritten() {
        isTrying = true
    }

    /// The candidate was diverted or confirmed.
    mutating func dropCandidate() {
        candidate = nil
        isTrying = false
    }

    /// The connection was lost before a publish was confirmed.
    mutating func lost(_ pending: PendingPublication) {
        lost.append(pending)
    }

    /// The unconfirmed publishes of the lost connection, and whether the candidate was the only one.
    mutating func takeLost() -> (all: [PendingPublication], wasAlone: Bool) {
        defer {
            lost = []
            isTrying = false
        }
        return (lost, isTrying)
    }

    // MARK: Routes

    /// The broker closed the connection over this publish alone. Remembers the route if the error is about it.
    mutating func refused(_ publication: Publication, _ error: AMQPError, until: Instant) {
        guard let name = Self.name(of: publication, blamedBy: error) else { return }
        if routes.count >= Self.maximumRoutes, routes[name] == nil {
            if let first = routes.min(by: { $0.value.until < $1.value.until }) { routes[first.key] = nil }
        }
        routes[name] = Refusal(until: until, replyText: error.message)
    }

    /// The broker accepted a publish.
    mutating func taken(_ publication: Publication) {
        guard !routes.isEmpty else { return }
        for name in Self.names(of: publication) { routes[name] = nil }
    }

    func verdict(on pending: PendingPublication, at now: Instant) -> Verdict {
        guard !routes.isEmpty else { return .open }
        for name in Self.names(of: pending.publication) {
            guard let refusal = routes[name] else { continue }
            return now < refusal.until ? .refused(refusal.replyText) : .doubtful
        }
        return .open
    }

    private static func names(of publication: borrowing Publication) -> [RouteName] {
        [
            RouteName(exchange: publication.exchange, routingKey: nil),
            RouteName(exchange: publication.exchange, routingKey: publication.routingKey),
        ]
    }

    /// A missing exchange accepts nothing. The broker rejects an invalid direct reply name regardless of the publisher.
    /// Other closes are about the message itself. Source: rabbitmq.com/docs/direct-reply-to.
    private static func name(of publication: Publication, blamedBy error: AMQPError) -> RouteName? {
        if error.code == .notFound { return RouteName(exchange: publication.exchange, routingKey: nil) }
        guard publication.exchange.isEmpty, publication.routingKey.starts(with: "amq.rabbitmq.reply-to".utf8) else {
            return nil
        }
        return RouteName(exchange: [], routingKey: publication.routingKey)
    }
}
