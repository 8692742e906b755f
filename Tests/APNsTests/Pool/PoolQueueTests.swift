import APNs
import Core
import HTTP2
import TestSupport
import Testing

/// The order of requests when permits are short.
@Suite("APNsPool and its queue")
struct PoolQueueTests {
    @Test("A request of a higher rank overtakes a backlog without starving it; apns-priority is not a rank")
    func ranks() throws {
        let world = try World(burst: 1, permitsPerSecond: 100)
        for handle in Handle(0)..<1000 {
            world.pool.submit(Fixture.request(handle, priority: .immediate), handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        let before = world.responses.count
        #expect((95...101).contains(before))
        for handle in Handle(1000)..<1200 {
            let low = Fixture.request(handle, priority: .low)
            let rank: UInt8 = handle.value % 2 == 0 ? 9 : 4
            let request = APNsRequest(low.notification, topic: low.topic, id: low.id, rank: rank)
            world.pool.submit(request, handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        let high = world.responses.keys.count { $0 >= 1000 && $0.value % 2 == 0 }
        let middle = world.responses.keys.count { $0 >= 1000 && $0.value % 2 == 1 }
        let backlog = world.responses.keys.count { $0 < 1000 } - before
        #expect((84...92).contains(high) && (4...7).contains(middle) && (4...7).contains(backlog))
        world.pass(.seconds(11))
        #expect(world.responses.count == 1200)
    }

    @Test("A connection with many refusals sends slower, and the pool opens no others to bypass its brake")
    func brakeHoldsThePool() throws {
        let world = try World {
            $0.connections = 1...8
            $0.burst = 100
            $0.permitsPerSecond = 80
        }
        world.onRequest = { $0.respond($1.stream, 400, #"{"reason":"BadDeviceToken"}"#) }
        world.submit(0..<3600, each: 60, every: .seconds(1))
        #expect(world.servers.count == 1 && world.pool.waitingCount > 1000)
        let before = world.responses.count
        world.pass(.seconds(10))
        #expect((95...105).contains(world.responses.count - before), "an eighth of 80 a second")
        #expect(world.statistics.braked == 1)
        world.cut(world.servers[0])
        world.pass(.seconds(5))
        let after = world.responses.count
        world.pass(.seconds(10))
        #expect(world.servers.count == 2 && (95...105).contains(world.responses.count - after), "no faster than before")
    }

    @Test("A braked connection that may send one request a second is replaced by one that sends")
    func slowestBrake() throws {
        let world = try World(burst: 60, permitsPerSecond: 1)
        world.onRequest = { $0.respond($1.stream, 400, #"{"reason":"BadDeviceToken"}"#) }
        world.submit(0..<90)
        world.pass(.seconds(15))
        #expect(world.statistics.braked == 1 && world.responses.count < 77, "one a second after the burst")
        world.cut(world.servers[0])
        world.pass(.seconds(5))
        #expect(world.servers.count == 2 && world.responses.count == 90)
    }

    @Test("Expiration is reported within two seconds, also behind unexpired requests and without a connection")
    func expiryBehind() throws {
        let world = try World()
        world.refusesConnects = true
        let seconds = world.now.wall.seconds
        for handle in Handle(0)..<10 {
            let request = Fixture.request(handle, expiration: handle == 0 ? 0 : seconds + Int64(handle.value))
            world.pool.submit(request, handle: handle, at: world.now.instant)
        }
        world.pass(.milliseconds(6500))
        let deadline = world.pool.nextDeadline ?? .distantFuture
        #expect(deadline <= world.now.instant + .seconds(1), "a scan each second")
        #expect(world.expired.sorted() == [1, 2, 3, 4, 5] || world.expired.sorted() == [1, 2, 3, 4, 5, 6])
        world.pass(.seconds(60))
        #expect(world.expired.sorted() == Array(1..<10) && world.pool.waitingCount == 1 && world.pool.inFlight == 0)
    }
}
