import APNs
import Core
import HTTP2
import Testing

/// Who goes next, where permits are short.
@Suite("APNsPool and its line")
struct PoolLineTests {
    @Test("A request of priority 10 does not wait for a backlog of priority 1, and the backlog is not forgotten")
    func priorities() throws {
        let world = try World {
            $0.burst = 1
            $0.permitsPerSecond = 100
        }
        for handle in UInt32(0)..<1000 {
            world.pool.submit(Fixture.request(handle, priority: .low), handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        let before = world.replies.count
        #expect((95...101).contains(before))
        for handle in UInt32(1000)..<1200 {
            let priority: Priority? = handle % 2 == 0 ? nil : .considerate
            world.pool.submit(Fixture.request(handle, priority: priority), handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        let immediate = world.replies.keys.count { $0 >= 1000 && $0 % 2 == 0 }
        let considerate = world.replies.keys.count { $0 >= 1000 && $0 % 2 == 1 }
        let low = world.replies.keys.count { $0 < 1000 } - before
        #expect((70...76).contains(immediate) && (18...21).contains(considerate) && (4...8).contains(low))
        world.pass(.seconds(11))
        #expect(world.replies.count == 1200)
    }

    @Test("A connection on which much is refused sends slower, and at full speed again when that is over")
    func errorBrake() throws {
        let world = try World {
            $0.burst = 10
            $0.permitsPerSecond = 80
        }
        var refuses = true
        world.onRequest = { server, received in
            if refuses, received.stream % 4 == 1 {
                server.reply(received.stream, 400, #"{"reason":"BadDeviceToken"}"#)
            } else {
                server.reply(received.stream)
            }
        }
        world.submit(0..<10_000)
        var sent: [Int] = []
        for round in 0..<8 {
            refuses = round < 4
            let before = world.servers.first?.received.count ?? 0
            world.pass(.seconds(10))
            sent.append((world.servers[0].received.count - before + 50) / 100)
            let statistics = world.pool.statistics(at: world.now.instant)
            #expect(statistics.braked == ((1...6).contains(round) ? 1 : 0), "\(round)")
        }
        #expect(sent == [8, 4, 2, 1, 1, 2, 4, 8])
        #expect(world.pool.statistics(at: world.now.instant).counters.brakes == 3)
    }
}
