import AMQP
import APNs
import Core
import Logging
import SimulatedWorld
import Testing

@testable import Pipeline

/// Doors that take only so many publishes.
private final class NarrowDoors: PipelineDoors {
    var room = 0
    private(set) var published: [String] = []

    func canPublish(_ lane: PublishLane) -> Bool { room > 0 }

    func connect(_ lane: PublishLane) {}
    func maximumProperties(on lane: PublishLane) -> Int { .max }

    func publish(_ publication: Publication, on lane: PublishLane) throws(AMQPError) -> UInt64 {
        room -= 1
        published.append(String(decoding: publication.routingKey, as: UTF8.self))
        return UInt64(published.count)
    }

    func submit(_ request: consuming APNsRequest, handle: UInt32, isProbe: Bool, pool: Int, at now: Moment) {}
    func withdraw(_ handle: UInt32, pool: Int) -> Bool { false }
    func isConnected(pool: Int) -> Bool { true }
    func take(_ intake: Intake) {}
    func ask(_ process: Int, handle: UInt32, _ delivery: Delivery) {}
    func settle(_ delivery: Delivery, _ settlement: Settlement) {}
}

@Suite("Publishing in order")
struct PublishingOrderTests {
    private static let now = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0))

    /// No request, whose result goes to the queue `reply`.
    private static func delivery(_ reply: String) -> Delivery {
        var layout = Delivery.Layout()
        layout.replyTo = Delivery.Field(0..<reply.utf8.count)
        return Delivery(epoch: 1, tag: 1, redelivered: false, queue: 0, storage: Array(reply.utf8), layout: layout)
    }

    @Test("What waits is published in order, however often the door closes in the middle, and before what comes later")
    func order() throws {
        let doors = NarrowDoors()
        let pipeline = Pipeline(
            settings: PipelineSettings(try World.configuration(), worker: "w"), apps: AppTable([]), doors: doors,
            log: Logger(label: "none") { _ in SwiftLogNoOpLogHandler() }, seed: 1)
        var expected: [String] = []
        for number in 0..<100 {
            expected.append("r\(number)")
            pipeline.received(Self.delivery("r\(number)"), at: Self.now)
            // Two steps forward, one back: something waits all the time.
            doors.room = number % 3
            if number % 2 == 0 { pipeline.publishWaiting(at: Self.now) }
        }
        #expect(doors.published.count < 100)
        doors.room = .max
        pipeline.publishWaiting(at: Self.now)
        #expect(doors.published == expected)
        #expect(pipeline.counters.unconfirmed == 100)
    }
}
