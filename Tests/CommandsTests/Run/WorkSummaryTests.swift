import SimulatedWorld
import TestSupport
import Testing

@testable import Commands

@Suite("The summary of a minute")
struct WorkSummaryTests {
    @Test("It counts requests ended in the last minute, and an idle minute has no summary")
    func minutes() throws {
        let world = try World(
            script: "token dead*: 410 Unregistered\ntoken bad*: 400 BadCollapseId\ntoken 00ff*: 503 ServiceUnavailable")
        try world.start()
        var summary = WorkSummary(at: world.network.now)
        func take() -> [String: String]? {
            let snapshots = world.running.map { $0.snapshot(at: world.moment) }
            return summary.take(snapshots, at: world.network.now)?.mapValues { "\($0)" }
        }
        for _ in 0..<3 { try world.request(World.body(token: "00aa")) }
        try world.request(World.body(token: "dead"))
        try world.request(World.body(token: "bad0"))
        world.pass(.seconds(59))
        #expect(take() == nil)
        world.pass(.seconds(1))
        let work = try #require(take())
        #expect(work["accepted"] == "3" && work["unregistered"] == "1" && work["rejected"] == "1")
        #expect(work["dead_letters"] == "1" && work["parked"] == "0" && summary.nextDue > world.network.now)
        world.pass(.seconds(60))
        #expect(take() == nil)
        try world.request(World.body(token: "00ab"))
        world.pass(.seconds(60))
        let again = try #require(take())
        #expect(again["accepted"] == "1" && again["rejected"] == "0" && again["dead_letters"] == "0")
        try world.request(World.body(token: "00ff"))
        world.pass(.seconds(60))
        #expect(take()?["parked"] == "1", "without an outcome")
    }
}
