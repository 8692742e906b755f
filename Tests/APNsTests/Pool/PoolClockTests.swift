import APNs
import Core
import Simulator
import TestSupport
import Testing

/// A pool and the simulator, each with its own wall clock.
@Suite("APNsPool and the wall clock")
struct PoolClockTests {
    @Test("For a day, APNs accepts every token that is sent")
    func steady() throws {
        let world = try World(script: "")
        world.submit(0..<1440, every: .seconds(60))
        #expect(world.responses.count == 1440 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(world.alarms.isEmpty && world.dialledAt.count == 1 && world.counters[.renewals] == 0)
    }

    @Test(
        "A wall clock that jumps and is corrected an hour later does no harm beyond 20 minutes after",
        arguments: [-120, -61, -30, 30, 61, 120])
    func jump(minutes: Int) throws {
        let world = try World(script: "")
        world.submit(0..<30, every: .seconds(60))
        world.skew = .seconds(minutes * 60)
        world.submit(30..<90, every: .seconds(60))
        world.skew = .zero
        world.submit(90..<112, every: .seconds(60))
        let before = world.responses.values.count { $0.status == 200 }
        world.submit(112..<200, every: .seconds(60))
        #expect(world.responses.count == 200, "every request gets a response")
        #expect(world.responses.values.count { $0.status == 200 } == before + 88)
        #expect(world.dialledAt.count < 250, "\(world.dialledAt.count)")
    }
}
