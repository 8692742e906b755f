import Pipeline
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration

/// Registrations by Apple while an app is paused: APNs applies them only to connections bound afterwards.
@Suite("Probing on fresh connections")
struct ProbeConnectionTests {
    private static func world(knownAfter: String, connections: ClosedRange<Int> = 1...4) throws -> World {
        try World.started(script: "set topic com.example.other\nset topic com.example.app after=\(knownAfter)") {
            $0.queues[0].prefetch = 200
            $0.apns.connections = connections
        }
    }

    @Test(
        "A topic that Apple registers later is accepted with the next probe, and the older connections are closed",
        arguments: [1...1, 1...4, 3...4])
    func learnsLater(connections: ClosedRange<Int>) throws {
        let world = try Self.world(knownAfter: "10s", connections: connections)
        try world.request(World.body(0, topic: "com.example.other"), id: "other")
        for number in 1..<20 { try world.request(World.body(number), id: "m\(number)") }
        world.pass(.seconds(1))
        #expect(world.worker?.paused.map(\.held) == [19])
        let refused = world.ledger.records.map(\.connection).max() ?? 0
        #expect(world.pass(atMost: .seconds(17)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == Array(repeating: "accepted", count: 20))
        #expect(world.published(in: "push.dead").isEmpty && world.worker?.paused == [])
        #expect(world.ledger.records.suffix(19).allSatisfy { $0.connection > refused })
    }

    @Test(
        "Refused probes cost one connection each, and leave the number of connections unchanged",
        arguments: [1...1, 2...8])
    func refusedProbes(connections: ClosedRange<Int>) throws {
        let world = try Self.world(knownAfter: "100h", connections: connections)
        for number in 1..<10 { try world.request(World.body(number), id: "m\(number)") }
        world.pass(.seconds(1))
        let before = world.network.attempts
        world.pass(.seconds(470))
        // At 15, 45, 105, 225 and 465 s.
        #expect(world.network.attempts == before + 5)
        #expect(world.openToAPNs == connections.lowerBound)
        try world.request(World.body(0, topic: "com.example.other"), id: "other")
        #expect(world.published(in: "push.results").map(\.messageID).count == 1)
    }

    @Test("A reload without changes probes paused apps at once")
    func reload() throws {
        let world = try Self.world(knownAfter: "1000s")
        for number in 1..<10 { try world.request(World.body(number), id: "m\(number)") }
        // The previous probe was at 765 s, the next one would be at 1065 s.
        world.pass(.seconds(1001))
        #expect(world.worker?.paused.map(\.held) == [9])
        try world.reload()
        #expect(world.pass(atMost: .seconds(1)) { world.isQuiet })
        #expect(world.published(in: "push.results").count == 9)
    }
}
