import AMQP
import Core
import TestSupport
import Testing

@testable import Pipeline

/// A delivery with only its identifying fields.
private func delivery(
    _ body: String, id: String? = nil, queue: Int = 0, timestamp: UInt64? = nil, correlationID: String? = nil,
    exchange: String? = nil, routingKey: String? = nil, replyTo: String? = nil, headers: [(String, String)] = []
) -> Delivery {
    var storage: [UInt8] = []
    func field(_ text: String?) -> Delivery.Field {
        guard let text else { return .absent }
        let start = storage.count
        storage += Array(text.utf8)
        return Delivery.Field(start..<storage.count)
    }
    var layout = Delivery.Layout()
    layout.body = field(body)
    layout.messageID = field(id)
    layout.correlationID = field(correlationID)
    layout.exchange = field(exchange ?? "")
    layout.routingKey = field(routingKey ?? "")
    layout.replyTo = field(replyTo)
    let fields = headers.map { Delivery.Header(field($0), .text(field($1))) }
    return Delivery(
        epoch: 1, tag: 1, redelivered: false, queue: QueueID(queue), timestamp: timestamp, storage: storage,
        layout: layout, headers: fields)
}

private func key(_ number: Int) -> RedeliveryKey {
    RedeliveryKey(delivery("body", id: "\(number)"))
}

@Suite("Completed requests")
struct CompletedRequestsTests {
    private static let start = Instant(nanoseconds: 0)

    @Test("The key is the same for a redelivery and differs in every field that a redelivery repeats")
    func keys() throws {
        let original = RedeliveryKey(delivery("a", id: "m", timestamp: 1))
        #expect(RedeliveryKey(delivery("a", id: "m", timestamp: 1)) == original)
        for other in [
            delivery("b", id: "m", timestamp: 1), delivery("a", id: "n", timestamp: 1), delivery("a", timestamp: 1),
            delivery("a", id: "m", timestamp: 2), delivery("a", id: "m"),
            delivery("a", id: "m", queue: 1, timestamp: 1), delivery("a", id: "m", timestamp: 1, correlationID: "c"),
            delivery("a", id: "m", timestamp: 1, exchange: "e"), delivery("a", id: "m", timestamp: 1, routingKey: "r"),
            delivery("a", id: "m", timestamp: 1, replyTo: "q"),
            delivery("a", id: "m", timestamp: 1, headers: [("device-token", "7a")]),
        ] {
            #expect(RedeliveryKey(other) != original)
        }
        #expect(RedeliveryKey(delivery("a", id: "m")) != RedeliveryKey(delivery("a", id: "m", timestamp: 0)))
        let arrived = Moment(instant: Self.start, wall: WallTime(milliseconds: 1000))
        for delivery in [delivery("a", id: "m", timestamp: 1), delivery("a", timestamp: 1)] {
            #expect(InFlightRequest(delivery: delivery, arrived: arrived).redeliveryKey == RedeliveryKey(delivery))
        }
        let own = [("device-token", "7a"), ("apns-topic", "x")]
        let added = [("apns-topic", "x"), ("device-token", "7a"), ("traceparent", "00"), ("x-acquired-count", "2")]
        for (first, again) in [(own, added + [("x-delivery-count", "1")]), ([], [("x-delivery-count", "1")])] {
            #expect(RedeliveryKey(delivery("a", headers: first)) == RedeliveryKey(delivery("a", headers: again)))
        }
        let values: [FieldValue] = [.int32(7), .double(0.5), .double(1.5), .boolean(true), .boolean(false)]
        let keys = try values.map { RedeliveryKey(try DeadLetterSamples.delivery(["device": $0])) }
        #expect(Set(keys).count == values.count)
        // Adjacent fields cannot run together.
        #expect(RedeliveryKey(delivery("ab", id: "c")) != RedeliveryKey(delivery("a", id: "bc")))
    }

    @Test("Nothing is suspected before a connection was lost, and everything completed before is afterwards")
    func suspects() {
        var completed = CompletedRequests(prefetch: 5)
        completed.completed(key(1))
        #expect(!completed.hasSuspects(at: Self.start))
        completed.connectionLost(at: Self.start)
        #expect(completed.hasSuspects(at: Self.start))
        #expect(completed.absorbs(key(1), at: Self.start) == true)
        // The acknowledgement of the redelivery can be lost as well.
        #expect(completed.absorbs(key(1), at: Self.start) == true)
        #expect(completed.absorbs(key(2), at: Self.start) == false)
        completed.completedTooLate(key(2), at: Self.start)
        #expect(completed.absorbs(key(2), at: Self.start) == true)
    }

    @Test("Without a message id, as many are absorbed as finished unacknowledged, and no acknowledged one")
    func unnamed() {
        let key = RedeliveryKey(delivery("look-alike"))
        var completed = CompletedRequests(prefetch: 5)
        completed.completed(key)
        completed.connectionLost(at: Self.start)
        #expect(completed.absorbs(key, at: Self.start) == false, "its twin may never have been sent")
        completed.completedTooLate(key, at: Self.start)
        completed.completedTooLate(key, at: Self.start)
        completed.republished(key)
        #expect((0..<3).map { _ in completed.absorbs(key, at: Self.start) } == [true, true, false])
        #expect(!completed.hasSuspects(at: Self.start))
    }

    @Test("A bounded number of look-alikes of unacknowledged completions is remembered, for ten minutes")
    func boundedLooks() {
        var completed = CompletedRequests(prefetch: 2)
        completed.connectionLost(at: Self.start)
        let keys = (0..<1000).map { RedeliveryKey(delivery("\($0)")) }
        for key in keys { completed.completedTooLate(key, at: Self.start) }
        #expect(keys.count { completed.absorbs($0, at: Self.start) } == 8)
        completed.completedTooLate(keys[0], at: Self.start)
        #expect(completed.absorbs(keys[0], at: Self.start + .seconds(600)) == false)
    }

    @Test("A newly published message is new")
    func anew() {
        var completed = CompletedRequests(prefetch: 5)
        completed.completed(key(1))
        completed.connectionLost(at: Self.start)
        completed.republished(key(1))
        for _ in 1...2 {
            #expect(completed.absorbs(key(1), at: Self.start) == false)
            completed.connectionLost(at: Self.start)
        }
    }

    @Test("Suspects are forgotten ten minutes after the last lost connection, or after a later end of theirs")
    func forgets() {
        var completed = CompletedRequests(prefetch: 5)
        completed.completed(key(1))
        completed.connectionLost(at: Self.start)
        completed.connectionLost(at: Self.start + .seconds(300))
        #expect(completed.absorbs(key(1), at: Self.start + .seconds(899)) == true)
        // Otherwise every delivery would be looked up for ever: nothing has to be redelivered first.
        #expect(!completed.hasSuspects(at: Self.start + .seconds(900)))
        // The next ten minutes do not bring back what is forgotten.
        completed.completedTooLate(key(2), at: Self.start + .seconds(900))
        #expect(completed.absorbs(key(1), at: Self.start + .seconds(900)) == false)
        #expect(completed.absorbs(key(2), at: Self.start + .seconds(1499)) == true)
        completed.connectionLost(at: Self.start + .seconds(1500))
        #expect(completed.absorbs(key(2), at: Self.start + .seconds(1500)) == false)
    }

    @Test("A bounded number of requests is remembered, the newest among them, however often connections are lost")
    func bounded() {
        var completed = CompletedRequests(prefetch: 2)
        for loss in 0..<1000 {
            for number in 0..<11 { completed.completed(key(loss * 11 + number)) }
            completed.connectionLost(at: Self.start)
            for number in 3..<11 { #expect(completed.absorbs(key(loss * 11 + number), at: Self.start) == true) }
        }
        // Of the last two losses, except one that was published again.
        completed.republished(key(998 * 11 + 3))
        #expect((0..<11_000).count { completed.absorbs(key($0), at: Self.start) } == 15)
        #expect((0..<11_000).count { completed.absorbs(key($0), at: Self.start + .seconds(600)) } == 0)
    }

    /// Deliveries complete in any order, the ledger acknowledges them in its own, and the broker withholds those beyond
    /// the prefetch. A completed delivery that the broker counts as unacknowledged at a lost connection must be
    /// remembered.
    @Test("In random walks every completed delivery that the broker still holds is known after a lost connection")
    func randomWalks() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let prefetch = Int.random(in: 1...12, using: &random)
            var completed = CompletedRequests(prefetch: prefetch)
            var ledger = DeliveryLedger(epoch: 1)
            var now = Self.start
            var atBroker: Set<UInt64> = []
            var open: [UInt64] = []
            var done: Set<UInt64> = []
            var next: UInt64 = 1
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                while atBroker.count < prefetch {
                    _ = ledger.deliveryReceived(next)
                    atBroker.insert(next)
                    open.append(next)
                    next += 1
                }
                now = now + .milliseconds(Int.random(in: 0...3, using: &random))
                if !open.isEmpty {
                    // Mostly the newest, so that the oldest one delays the acknowledgements of all others.
                    let isNew = Int.random(in: 0..<8, using: &random) > 0
                    let tag = isNew ? open.removeLast() : open.removeFirst()
                    ledger.settle(tag, epoch: 1, at: now)
                    completed.completed(key(Int(tag)))
                    done.insert(tag)
                }
                while let acknowledgement = ledger.nextAcknowledgement(at: now) {
                    switch acknowledgement {
                    case .one(let tag): atBroker.remove(tag)
                    case .upTo(let tag): atBroker = atBroker.filter { $0 > tag }
                    }
                }
            }
            completed.connectionLost(at: now)
            for tag in atBroker where done.contains(tag) {
                try #require(completed.absorbs(key(Int(tag)), at: now) == true, "seed \(seed), prefetch \(prefetch)")
            }
        }
    }
}
