import APNs
import Core
import Simulator
import TestSupport
import Testing

/// A pool and the simulator, each with its own wall clock.
@Suite("APNsPool and the wall clock")
struct PoolClockTests {
    /// One request a minute.
    private func send(_ range: Range<Handle>, _ world: World) {
        for handle in range {
            world.submit(handle..<handle + 1)
            world.pass(.seconds(60))
        }
    }

    @Test("For a day, APNs accepts every token that is sent")
    func steady() throws {
        let world = try World(script: "")
        send(0..<1440, world)
        #expect(world.responses.count == 1440 && world.responses.values.allSatisfy { $0.status == 200 })
        #expect(world.alarms.isEmpty && world.dialledAt.count == 1)
        #expect(world.counters[.renewals] == 0)
    }

    @Test(
        "A wall clock that jumps and is corrected an hour later does no harm beyond 20 minutes after",
        arguments: [-120, -61, -30, 30, 61, 120])
    func jump(minutes: Int) throws {
        let world = try World(script: "")
        send(0..<30, world)
        world.skew = .seconds(minutes * 60)
        send(30..<90, world)
        world.skew = .zero
        send(90..<112, world)
        let before = world.responses.values.count { $0.status == 200 }
        send(112..<200, world)
        #expect(world.responses.count == 200, "every request gets a response")
        #expect(world.responses.values.count { $0.status == 200 } == before + 88)
        #expect(world.dialledAt.count < 250, "\(world.dialledAt.count)")
    }
}
