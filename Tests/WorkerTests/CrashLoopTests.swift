import AMQP
import Core
import Logging
import Runtime
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration

/// The effect on a queue when a process repeatedly crashes on one message.
@Suite("Crash loops")
struct CrashLoopTests {
    @Test("Only the message that kills a process is redelivered at each crash, not the whole prefetch")
    func slowStart() throws {
        let world = try World { $0.queues[0].prefetch = 100 }
        world.startsSlowly = true
        world.isAPNsDown = true
        try world.start()
        for number in 0..<50 { try world.request(World.body(number), id: number == 0 ? "poison" : "m\(number)") }
        #expect(world.broker.unsettledCount == 50)
        world.kill()
        // From the second process on, there is one delivery at the crash.
        var deliveries: [String: Int] = [:]
        world.broker.observe = { observation in
            guard case .delivered(let message, _) = observation else { return }
            let id = message.decodedProperties?.messageID.map { String(decoding: $0, as: UTF8.self) } ?? "?"
            deliveries[id, default: 0] += 1
        }
        for _ in 0..<5 {
            try world.start()
            #expect(world.broker.unsettledCount == 1)
            world.kill()
        }
        #expect(deliveries == ["poison": 5])
        // A process that survives it takes more, and then all.
        try world.start()
        world.pass(.milliseconds(1500))
        #expect(world.broker.unsettledCount == 11)
        world.pass(.seconds(1))
        #expect(world.broker.unsettledCount == 50)
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 50)
        #expect(world.broker.violations.isEmpty)
    }

    @Test("A queue with a single active consumer starts with its full prefetch")
    func singleActive() throws {
        let world = try World.started(
            configure: { $0.queues[0].isSingleActive = true }, before: { $0.startsSlowly = true })
        #expect(world.worker?.snapshot(at: world.moment).queues[0].prefetchInForce == 10)
    }

    @Test("A request that only waits for its time is not a poison suspect, however often its worker is restarted")
    func restarted() throws {
        let world = try World.started()
        world.broker.countsDeliveries = true
        try world.request(World.body(1, extra: "\"not-before\":\(World.start.wall.seconds + 4),"), id: "m1")
        for _ in 0..<20 where world.parked.isEmpty {
            #expect(world.broker.unsettledCount == 1)
            _ = try world.drain(within: .seconds(1))
            world.kill()
            try world.start()
        }
        #expect(world.parked.count == 1)
        #expect(world.pass(atMost: .seconds(10)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    @Test("A message delivered too often is dead-lettered undecoded, with a result that says so")
    func poison() throws {
        let world = try World.started(before: { $0.isAPNsDown = true })
        world.broker.countsDeliveries = true
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let id = "123e4567-e89b-12d3-a456-426655440000"
        try world.request(World.body(1), id: "poison", replyTo: "replies") {
            $0.headers = ["traceparent": .string(trace), "apns-id": .string(id)]
        }
        for _ in 0..<15 {
            #expect(world.broker.unsettledCount == 1)
            world.kill()
            try world.start()
        }
        #expect(world.pass(atMost: .seconds(5)) { world.isQuiet })
        #expect(world.sent == 0)
        let letter = try #require(world.published(in: "push.dead").first)
        #expect(letter.outcome == "undelivered")
        #expect(letter.body == World.body(1))
        #expect(letter.headers["harebell-detail"]?.hasPrefix("poison suspect: delivered 15 times") == true)
        let result = try #require(world.published(in: "replies").first)
        #expect(result.outcome == "undelivered" && result.messageID == id)
        #expect(result.body.contains("\"processed\":\"unknown\""))
        let told = world.log.filter { $0.message.hasPrefix("a message was delivered too often") }
        #expect(told.map { $0.metadata["trace_id"]?.description } == [String(trace.dropFirst(3).prefix(32))])
        #expect(told.first?.number("deliveries") == 15 && told.first?.number("limit") == 15)
    }
}
