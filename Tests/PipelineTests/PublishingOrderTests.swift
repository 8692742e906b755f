import AMQP
import Core
import Logging
import SimulatedWorld
import TestSupport
import Testing

@testable import Pipeline

@Suite("Publishing in order")
struct PublishingOrderTests {
    private static let now = Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0))

    /// An invalid request whose result goes to the queue `reply`.
    private static func delivery(_ reply: String) -> Delivery {
        var layout = Delivery.Layout()
        layout.replyTo = Delivery.Field(0..<reply.utf8.count)
        return Delivery(epoch: 1, tag: 1, redelivered: false, queue: 0, storage: Array(reply.utf8), layout: layout)
    }

    @Test("Queued results are published in order, through any interruptions, and before later ones")
    func order() throws {
        var pipeline = RequestPipeline(
            PipelineSettings(try World.configuration(), worker: "w"), apps: AppTable([]),
            log: Logger(label: "none") { _ in SwiftLogNoOpLogHandler() }, seed: 1)
        var expected: [String] = []
        var published: [String] = []
        /// Accepts a limited number of publishes.
        func publish(atMost room: Int) {
            for _ in 0..<room {
                guard let pending = pipeline.nextPublication(on: .queues, at: Self.now) else { return }
                published.append(String(decoding: pending.publication.routingKey, as: UTF8.self))
                pipeline.published(pending, as: UInt64(published.count), at: Self.now)
            }
        }
        for number in 0..<100 {
            expected.append("r\(number)")
            pipeline.received(Self.delivery("r\(number)"), at: Self.now)
            // Two added, one published: the queue is never empty.
            if number % 2 == 0 { publish(atMost: number % 3) }
        }
        #expect(published.count < 100)
        publish(atMost: .max)
        #expect(published == expected)
        #expect(pipeline.counters.unconfirmed == 100)
    }

    @Test("A check that comes late is made, and plans the next one")
    func lateCheck() throws {
        var pipeline = RequestPipeline(
            PipelineSettings(try World.configuration(), worker: "w"), apps: AppTable([app("com.example.app")]),
            log: Logger(label: "none") { _ in SwiftLogNoOpLogHandler() }, seed: 1)
        pipeline.received(try DeadLetterSamples.delivery([:], body: World.body()), at: Self.now)
        let late = Moment(instant: Self.now.instant + .seconds(3), wall: Self.now.wall)
        pipeline.expire(at: late)
        let next = pipeline.nextDeadline
        #expect(next == late.instant + .seconds(2))
    }
}

@Suite("Destinations")
struct DestinationsTests {
    private static func publication(_ number: Int) -> Publication {
        Publication(routingKey: ArraySlice("reply-\(number)".utf8), body: [])
    }

    @Test("Idle destinations are forgotten, and one in use is the same object", arguments: 1...2)
    func forgetting(rounds: Int) {
        var destinations = Destinations(limit: 10)
        let used = destinations.destination(of: Self.publication(-1))
        used.publishes = 1
        for number in 0..<(rounds * 5000) {
            let destination = destinations.destination(of: Self.publication(number))
            #expect(destinations.destination(of: Self.publication(number)) === destination)
            #expect(destinations.known.count <= Destinations.maximumIdle)
        }
        #expect(destinations.known.count > 2, "not with each new one")
        #expect(destinations.destination(of: Self.publication(-1)) === used)
        used.publishes = 0
        for number in 0...Destinations.maximumIdle { _ = destinations.destination(of: Self.publication(number)) }
        #expect(destinations.destination(of: Self.publication(-1)) !== used)
    }

    @Test("Where many are in use, a new one does not make it forget the idle ones each time")
    func manyInUse() {
        var destinations = Destinations(limit: 10)
        for number in 0..<Destinations.maximumIdle {
            destinations.destination(of: Self.publication(number)).publishes = 1
        }
        let idle = destinations.destination(of: Self.publication(-1))
        _ = destinations.destination(of: Self.publication(-2))
        #expect(destinations.destination(of: Self.publication(-1)) === idle)
    }

    @Test("Exchange and routing key name a destination together")
    func names() {
        var destinations = Destinations(limit: 10)
        var publication = Self.publication(1)
        let queue = destinations.destination(of: publication)
        publication.exchange = ArraySlice("pushes".utf8)
        let exchange = destinations.destination(of: publication)
        #expect(queue !== exchange)
        #expect(queue.route.name == "reply-1" && exchange.route.name == "pushes/reply-1")
    }
}
