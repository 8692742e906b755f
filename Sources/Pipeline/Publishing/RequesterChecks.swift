import AMQP
import Core
import DequeModule

/// Direct replies that the broker returned, until it has told whether their requesters are connected.
///
/// RabbitMQ returns every mandatory direct reply, also one that its requester got. Only a passive declaration of its
/// name tells the two apart: it succeeds while the requester's channel is open. Source:
/// rabbitmq.com/docs/direct-reply-to.
struct RequesterChecks {
    private var names = Deque<ArraySlice<UInt8>>()
    private var replies: [ArraySlice<UInt8>: [PendingPublication]] = [:]
    /// Those of one requester, about which the broker is being asked.
    private var asked: [PendingPublication] = []

    var isEmpty: Bool { names.isEmpty && asked.isEmpty }

    var elements: [PendingPublication] { asked + replies.values.joined() }

    mutating func append(_ reply: PendingPublication) {
        let name = reply.publication.routingKey
        if replies[name] == nil { names.append(name) }
        replies[name, default: []].append(reply)
    }

    /// The name to ask about next; `nil` while an answer is awaited, and where there is none.
    ///
    /// Replies that are returned after this wait for the next question about their requester.
    mutating func next() -> ArraySlice<UInt8>? {
        guard asked.isEmpty, let name = names.popFirst() else { return nil }
        asked = replies.removeValue(forKey: name) ?? []
        return name
    }

    /// The broker has answered.
    ///
    /// - Returns: the replies that the answer is about.
    mutating func answered() -> [PendingPublication] {
        defer { asked = [] }
        return asked
    }

    /// The question was lost with its connection, and is the next one again.
    mutating func lost() {
        guard let name = asked.first?.publication.routingKey else { return }
        if replies[name] != nil { names.removeAll { $0 == name } }
        names.prepend(name)
        replies[name] = answered() + (replies[name] ?? [])
    }

    /// Since when the oldest wait to be asked about.
    var waitingSince: Instant? {
        names.first.flatMap { replies[$0]?.first?.waitingSince }
    }

    /// Takes out the replies to the requester that has waited longest to be asked about.
    mutating func popOldest() -> [PendingPublication] {
        names.popFirst().flatMap { replies.removeValue(forKey: $0) } ?? []
    }
}
