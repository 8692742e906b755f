import AMQP
import Core
import Logging
import SimulatedWorld
import TestSupport
import Testing

@testable import Pipeline

@Suite("Checks of requesters")
struct RequesterCheckTests: ~Copyable {
    private let actions = ActionQueue()
    private var outbox: Outbox

    init() throws {
        outbox = Outbox(
            PipelineSettings(try World.configuration(), worker: "w"), actions,
            log: Logger(label: "none") { _ in SwiftLogNoOpLogHandler() })
        _ = outbox.publisher(.queues, isOpen: true)
    }

    private static func moment(_ seconds: Int64) -> Moment {
        Moment(instant: Instant(nanoseconds: seconds * 1_000_000_000), wall: WallTime(milliseconds: seconds * 1000))
    }

    private static func name(_ number: UInt32) -> String {
        DirectReplies.name(node: "reply@1", number: number)
    }

    /// Publishes a direct reply, which the broker returns.
    private mutating func reply(to name: String, at seconds: Int64 = 0) throws {
        var layout = Delivery.Layout()
        layout.replyTo = Delivery.Field(0..<name.utf8.count)
        let delivery = Delivery(
            epoch: 1, tag: 1, redelivered: false, queue: 0, storage: Array(name.utf8), layout: layout)
        let now = Self.moment(seconds)
        let request = InFlightRequest(delivery: delivery, arrived: now)
        request.open = 1
        outbox.conclude(Conclusion(request: request, id: nil, report: Report(outcome: .accepted, status: 200)), at: now)
        for role in [PublisherRole.provenReplies, .unprovenReplies] {
            guard let pending = outbox.nextPublication(on: role, at: now) else { continue }
            outbox.published(pending, as: 1)
            outbox.confirmed(1, .returned(code: 312, text: "NO_ROUTE"), on: role, at: now)
        }
    }

    private mutating func next() -> String? {
        outbox.nextRequester().map { String(decoding: $0, as: UTF8.self) }
    }

    private func completed() -> Int {
        var count = 0
        while let action = actions.next() {
            if case .complete = action { count += 1 }
        }
        return count
    }

    /// The routes on which the outbox publishes other results.
    private mutating func elsewhere() -> [String] {
        var keys: [String] = []
        while let pending = outbox.nextPublication(on: .queues, at: Self.moment(0)) {
            keys.append(String(decoding: pending.publication.routingKey, as: UTF8.self))
        }
        return keys
    }

    @Test("One answer covers all replies sent to the requester before the check")
    mutating func batch() throws {
        for _ in 0..<3 { try reply(to: Self.name(1)) }
        #expect(next() == Self.name(1))
        try reply(to: Self.name(1))
        #expect(next() == nil, "one question at a time")
        outbox.requesterChecked(isConnected: true, at: Self.moment(0))
        #expect(completed() == 3)
        #expect(next() == Self.name(1))
        outbox.requesterChecked(isConnected: false, at: Self.moment(0))
        #expect(!outbox.checksRequesters && elsewhere() == ["push.results"])
        #expect(outbox.counters[.returned] == 1)
    }

    @Test("A check lost with its connection is repeated next")
    mutating func lost() throws {
        try reply(to: Self.name(1))
        try reply(to: Self.name(2))
        #expect(next() == Self.name(1))
        try reply(to: Self.name(1))
        outbox.requesterCheckLost()
        #expect(next() == Self.name(1))
        outbox.requesterChecked(isConnected: true, at: Self.moment(0))
        #expect(completed() == 2)
        #expect(next() == Self.name(2))
        #expect(outbox.requests.count == 1)
    }

    @Test("A reply whose requester cannot be checked goes elsewhere after 30 seconds")
    mutating func overdue() throws {
        try reply(to: Self.name(1))
        try reply(to: Self.name(2), at: 20)
        #expect(outbox.nextDeadline == Self.moment(30).instant)
        outbox.expire(at: Self.moment(29))
        #expect(elsewhere().isEmpty)
        outbox.expire(at: Self.moment(30))
        #expect(elsewhere() == ["push.results"])
        #expect(next() == Self.name(2))
        #expect(outbox.nextDeadline == nil, "a question is answered or lost with its connection")
    }
}
