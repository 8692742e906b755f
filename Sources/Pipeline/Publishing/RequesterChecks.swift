import AMQP
import Core
import DequeModule

/// Returned direct replies whose requesters are being checked for a connection.
///
/// RabbitMQ returns every mandatory direct reply, even if the requester received it. Only a passive declaration of the
/// reply name shows the difference: it succeeds while the requester's channel is open.
/// Source: rabbitmq.com/docs/direct-reply-to.
struct RequesterChecks {
    private var names = Deque<ArraySlice<UInt8>>()
    private var replies: [ArraySlice<UInt8>: [PendingPublication]] = [:]
    /// The replies to the requester of the pending check.
    private var asked: [PendingPublication] = []

    var isEmpty: Bool { names.isEmpty && asked.isEmpty }

    var elements: [PendingPublication] { asked + replies.values.joined() }

    mutating func append(_ reply: PendingPublication) {
        let name = reply.publication.routingKey
        if replies[name] == nil { names.append(name) }
        replies[name, default: []].append(reply)
    }

    /// The next name to check; `nil` while a check is pending or none is due.
    ///
    /// Replies returned after this wait for the next check of their requester.
    mutating func next() -> ArraySlice<UInt8>? {
        guard asked.isEmpty, let name = names.popFirst() else { return nil }
        asked = replies.removeValue(forKey: name) ?? []
        return name
    }

    /// The broker answered the pending check.
    ///
    /// - Returns: the replies that were checked.
    mutating func responded() -> [PendingPublication] {
        defer { asked = [] }
        return asked
    }

    /// The check was lost with its connection, and is repeated next.
    mutating func lost() {
        guard let name = asked.first?.publication.routingKey else { return }
        if replies[name] != nil { names.removeAll { $0 == name } }
        names.prepend(name)
        replies[name] = responded() + (replies[name] ?? [])
    }

    /// Since when the oldest replies wait for a check.
    var waitingSince: Instant? {
        names.first.flatMap { replies[$0]?.first?.waitingSince }
    }

    /// Removes the replies that have waited longest for a check.
    mutating func popOldest() -> [PendingPublication] {
        names.popFirst().flatMap { replies.removeValue(forKey: $0) } ?? []
    }
}
