import AMQP
import Core
import TestSupport
import Testing

@testable import Commands
@testable import Pipeline

@Suite("Copies of dead letters")
struct ReplayEncoderTests {
    private func replay(
        _ headers: FieldTable, to queue: String = "push.requests", edit: (inout MessageProperties) -> Void = { _ in }
    ) throws -> (Publication, FieldTable) {
        let delivery = try DeadLetterSamples.delivery(headers, body: "{\"a\" : 1}", edit: edit)
        let letter = DeadLetter(delivery, in: DeadLetterSamples.queue)
        let publication = ReplayEncoder.replay(delivery, letter, to: queue, id: "run")
        return (publication, publication.properties.headers ?? FieldTable())
    }

    @Test("A replay is the original request with its origin and without its outcome")
    func replay() throws {
        let (publication, headers) = try replay(DeadLetterSamples.ours) { $0.correlationID = Array("c".utf8) }
        #expect(publication.exchange.isEmpty && publication.routingKey.elementsEqual("push.requests".utf8))
        #expect(publication.mandatory && publication.properties.deliveryMode == 2)
        #expect(publication.body.elementsEqual("{\"a\" : 1}".utf8))
        #expect(publication.properties.messageID.map { Array($0) } == Array("m-1".utf8))
        #expect(publication.properties.correlationID.map { Array($0) } == Array("c".utf8))
        #expect(
            headers == [
                "traceparent": .string("00-1"), "harebell-queue": .string("push.requests"),
                "harebell-exchange": .string("work"), "harebell-routing-key": .string("push.a"),
                "harebell-first-seen": .string("2026-11-21T22:00:00Z"),
                "harebell-apns-id": .string("123e4567-e89b-12d3-a456-426655440000"), "harebell-done": .bytes([1, 2]),
                "harebell-replays": .int32(2), "harebell-replay-id": .string("run"),
            ])
    }

    @Test("The broker's headers are removed, and the origin is kept in ours")
    func broker() throws {
        var headers = DeadLetterSamples.deaths(DeadLetterSamples.death("push.requests", "expired"))
        headers["x-delivery-count"] = .int64(3)
        headers["mine"] = .boolean(true)
        headers["harebell-parked"] = .int32(2)
        headers["harebell-processed"] = .string("yes")
        headers["harebell-expires-at"] = .int64(1)
        let (_, copy) = try replay(headers)
        #expect(
            copy == [
                "mine": .boolean(true), "harebell-queue": .string("push.requests"),
                "harebell-exchange": .string("work"), "harebell-routing-key": .string("push.a"),
                "harebell-replays": .int32(1), "harebell-replay-id": .string("run"),
            ])
        let (_, hostile) = try replay(["harebell-replays": .int64(.max)])
        #expect(hostile["harebell-replays"] == .int32(.max))
    }

    @Test("The request keeps its apns-id, for any dead letter, with or without a message id")
    func identity() throws {
        for messageID in ["m-1", "", nil] {
            var original = MessageProperties()
            original.messageID = messageID.map { Array($0.utf8) }
            original.timestamp = 7
            let request = try DeadLetterSamples.delivery(
                original, body: Array("[1]".utf8), exchange: "work", routingKey: "push.a")
            let expected = RequestKey.notificationID(own: nil, position: nil, of: request, queue: "push.requests")

            let encoder = DeadLetterEncoder(
                route: PublishRoute(exchange: [], routingKey: ArraySlice(DeadLetterSamples.queue.utf8)), worker: "w")
            let ours = encoder.encode(
                request, report: Report(outcome: .rejected), id: expected, queue: "push.requests", decoder: "auto",
                firstSeen: WallTime(milliseconds: 0), now: WallTime(milliseconds: 0))
            let brokers = DeadLetterSamples.deaths(DeadLetterSamples.death("push.requests", "expired"))
            for headers in [ours.properties.headers ?? FieldTable(), brokers] {
                let dead = try DeadLetterSamples.delivery(headers, messageID: messageID, body: "[1]") {
                    $0.timestamp = 7
                }
                let letter = DeadLetter(dead, in: DeadLetterSamples.queue)
                #expect(letter.messageID == (messageID == "" ? nil : messageID))
                let copy = ReplayEncoder.replay(dead, letter, to: "push.requests", id: "run")
                let back = try DeadLetterSamples.delivery(
                    copy.properties.headers ?? FieldTable(), messageID: messageID, body: "[1]"
                ) { $0.timestamp = 7 }
                let found = RequestKey.notificationID(own: nil, position: nil, of: back, queue: "push.requests")
                #expect(found == expected)
            }
        }
    }

    @Test("A copy of a dead letter has its origin, and all headers except counters and those with an effect")
    func copy() throws {
        var headers = DeadLetterSamples.deaths(DeadLetterSamples.death("push.requests", "expired"))
        headers["x-delivery-count"] = .int64(12)
        headers["CC"] = .array([.string("elsewhere")])
        let delivery = try DeadLetterSamples.delivery(headers) {
            $0.expiration = Array("60000".utf8)
            $0.userID = Array("somebody".utf8)
            $0.deliveryMode = 1
        }
        let archived = try ArchivedMessage(line: ArchivedMessage.line(delivery, from: "q")[...]).delivery
        let letter = DeadLetter(archived, in: DeadLetterSamples.queue)
        let copy = try ReplayEncoder.copy(archived, letter, to: DeadLetterSamples.queue)
        #expect(copy.routingKey.elementsEqual(DeadLetterSamples.queue.utf8))
        #expect(copy.properties.deliveryMode == 2 && copy.mandatory)
        #expect(copy.properties.expiration == nil && copy.properties.userID == nil)
        let table = copy.properties.headers ?? FieldTable()
        #expect(table["x-delivery-count"] == nil && table["CC"] == nil && table["x-death"] != nil)
        // Brokers do not keep x-death on a copy.
        #expect(table["harebell-queue"] == .string("push.requests"))
        #expect(table["harebell-orig-cc"] == .array([.string("elsewhere")]))
        #expect(table["harebell-orig-expiration"] == .string("60000"))
        var again = try DeadLetterSamples.delivery(table)
        again.tag = 2
        let read = DeadLetter(again, in: DeadLetterSamples.queue)
        #expect(read.reason == "expired" && read.queue == "push.requests")
    }

    @Test("A message that cannot be decoded completely is not copied")
    func tooDeep() throws {
        var value = FieldValue.array([])
        for _ in 0..<20 { value = .array([value]) }
        let delivery = try DeadLetterSamples.delivery(["deep": value])
        let letter = DeadLetter(delivery, in: DeadLetterSamples.queue)
        #expect(throws: AMQPError.self) { try ReplayEncoder.copy(delivery, letter, to: DeadLetterSamples.queue) }
        #expect(throws: AMQPError.self) { try ArchivedMessage.line(delivery, from: DeadLetterSamples.queue) }
    }
}
