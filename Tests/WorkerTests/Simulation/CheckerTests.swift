import AMQP
import Core
import SimulatedWorld
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

@Suite("Checker of the simulation")
struct CheckerTests {
    @Test("Repeated sending after the death of a process is permitted, and without one it is not")
    func repetitions() throws {
        for isKnown in [true, false] {
            let (world, checker) = try Self.held()
            if isKnown { checker.processEnds() }
            world.kill()
            world.broker.holdsConfirms = false
            try world.start()
            #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
            #expect(world.sent == 2)
            checker.end(Self.calm)
            #expect(checker.complaints.contains { $0.contains("answers were repeated") } == !isKnown)
        }
    }

    @Test("Excess permits, connects or deliveries are detected by the checker")
    func limits() throws {
        let (world, checker) = try Self.held {
            $0.permitsPerSecond = 0; $0.burst = 0; $0.connectsPerMinute = 0
        }
        checker.step(mayHold: 0)
        checker.end(Self.calm)
        for what in ["the worker holds 1 deliveries, 0", "more requests than permits", "1 connects within"] {
            #expect(checker.complaints.contains { $0.contains(what) }, "\(what): \(checker.complaints)")
        }
        world.broker.holdsConfirms = false
    }

    @Test("A notification that waits too long for its app is detected by the checker")
    func hold() throws {
        let world = try World.started(script: "token *: 403 InvalidProviderToken")
        var limits = Checker.Limits(world.configuration)
        limits.hold = .seconds(20)
        let checker = Checker(world, limits: limits)
        var random = SplitMix64(seed: 1)
        try checker.publish(SimulatedRequest(number: 0, kind: .good, random: &random))
        for expected in [true, false] {
            world.pass(.seconds(15))
            checker.step(mayHold: 10)
            #expect(checker.complaints.isEmpty == expected)
        }
        #expect(checker.complaints.contains { $0.contains("has waited for its app") })
    }

    @Test("A closed app that holds the whole prefetch while another can send is detected by the checker")
    func share() throws {
        // The share of a closed app is at least one request, which is all of this prefetch.
        let world = try World.started(script: "topic com.example.other: 403 TopicMismatch", prefetch: 1)
        let checker = Checker(world)
        var random = SplitMix64(seed: 1)
        try checker.publish(SimulatedRequest(number: 0, kind: .otherApp, random: &random))
        try checker.publish(SimulatedRequest(number: 1, kind: .good, random: &random))
        world.settle()
        for expected in [true, true, false] {
            checker.serves()
            #expect(checker.complaints.isEmpty == expected)
            world.pass(.seconds(16))
        }
        #expect(checker.complaints.contains { $0.contains("a closed app has held up the others") })
    }

    @Test("A fan-out that a closed app holds is one request of the prefetch")
    func heldFanOut() throws {
        let world = try World.started(script: "topic com.example.app: 403 TopicMismatch", prefetch: 2)
        let checker = Checker(world)
        var random = SplitMix64(seed: 1)
        try checker.publish(SimulatedRequest(number: 0, kind: .fanOut, random: &random))
        world.settle()
        for engine in world.broker.engines { engine.isStalled = true }
        try checker.publish(SimulatedRequest(number: 1, kind: .good, random: &random))
        for _ in 0..<3 {
            #expect(try #require(world.worker).worker.pipeline.waiting.count >= 2)
            checker.serves()
            world.pass(.seconds(16))
        }
        #expect(checker.complaints.isEmpty)
    }

    @Test("A lost request is detected by the checker")
    func lost() throws {
        let (world, checker) = try Self.held()
        checker.conserved()
        #expect(checker.complaints.isEmpty)
        world.kill()
        world.broker.delete("push.requests")
        checker.conserved()
        #expect(checker.complaints.contains { $0.contains("are not 1 published") })
    }

    private static let calm = Checker.Expectations(
        apnsTrouble: true, publisherTrouble: true, missingQueues: false, requestsAreHeldUp: false)

    /// A world whose only request APNs has answered, and whose result waits for its confirm.
    private static func held(_ edit: (inout Checker.Limits) -> Void = { _ in }) throws -> (World, Checker) {
        let world = try World.started()
        var limits = Checker.Limits(world.configuration)
        edit(&limits)
        let checker = Checker(world, limits: limits)
        world.broker.holdsConfirms = true
        var random = SplitMix64(seed: 1)
        var request = SimulatedRequest(number: 0, kind: .good, random: &random)
        // Without a message id, its redelivery may be sent again.
        while request.properties.messageID == nil {
            request = SimulatedRequest(number: 0, kind: .good, random: &random)
        }
        try checker.publish(request)
        world.pass(.seconds(1))
        try #require(world.sent == 1)
        return (world, checker)
    }
}
