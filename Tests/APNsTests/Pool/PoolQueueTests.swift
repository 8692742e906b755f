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
        let world = try World {
            $0.burst = 1
            $0.permitsPerSecond = 100
        }
        for handle in Handle(0)..<1000 {
            world.pool.submit(Fixture.request(handle, priority: .immediate), handle: handle, at: world.now.instant)
        }
        world.pass(.seconds(1))
        let before = world.responses.count
        #expect((95...101).contains(before))
        for handle in Handle(1000)..<1200 {
            var request = Fixture.request(handle, priority: .low)
            request.rank = handle.value % 2 == 0 ? 9 : 4
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

    @Test("A connection with many refusals sends slower, and at full speed again when they stop")
    func errorBrake() throws {
        let world = try World {
            $0.burst = 10
            $0.permitsPerSecond = 80
        }
        var refuses = true
        world.onRequest = { server, received in
            if refuses, received.stream % 4 == 1 {
                server.respond(received.stream, 400, #"{"reason":"BadDeviceToken"}"#)
            } else {
                server.respond(received.stream)
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
        #expect(world.pool.statistics(at: world.now.instant).counters[.brakes] == 3)
    }

    @Test("The pool does not open connections to bypass the brake")
    func brakeHoldsThePool() throws {
        let world = try World {
            $0.connections = 1...8
            $0.burst = 100
            $0.permitsPerSecond = 80
        }
        world.onRequest = { $0.respond($1.stream, 400, #"{"reason":"BadDeviceToken"}"#) }
        for second in Handle(0)..<60 {
            world.submit(second * 60..<second * 60 + 60)
            world.pass(.seconds(1))
        }
        #expect(world.servers.count == 1 && world.pool.waitingCount > 1000)
        let before = world.responses.count
        world.pass(.seconds(10))
        #expect((95...105).contains(world.responses.count - before), "an eighth of 80 a second")
        world.cut(world.servers[0])
        world.pass(.seconds(5))
        let after = world.responses.count
        world.pass(.seconds(10))
        #expect(world.servers.count == 2 && (95...105).contains(world.responses.count - after), "no faster than before")
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
        world.pass(.seconds(7))
        #expect(world.expired.sorted() == [1, 2, 3, 4, 5] || world.expired.sorted() == [1, 2, 3, 4, 5, 6])
        world.pass(.seconds(60))
        #expect(world.expired.sorted() == Array(1..<10) && world.pool.waitingCount == 1)
    }

    @Test("Requests beyond one device's limit are returned, as not processed and throttled")
    func crowdedDevice() throws {
        let device = try #require(DeviceToken("beef"))
        let world = try World { $0.maximumWaitingPerDevice = 3 }
        var isFirst = true
        world.onRequest = { server, received in
            defer { isFirst = false }
            server.respond(received.stream, isFirst ? 429 : 200, isFirst ? #"{"reason":"TooManyRequests"}"# : "")
        }
        func submit(_ range: Range<Handle>) {
            for handle in range {
                world.pool.submit(Fixture.request(handle, device: device), handle: handle, at: world.now.instant)
            }
        }
        submit(0..<1)
        world.pass(.milliseconds(500))
        submit(1..<6)
        world.pass(.milliseconds(100))
        #expect(world.losses.keys.sorted() == [4, 5] && world.pool.waitingCount == 3)
        #expect(world.losses.values.allSatisfy { $0.processed == .no && $0.isThrottled })
        #expect(world.pool.statistics(at: world.now.instant).counters[.fullDeviceQueues] == 2)
        world.pass(.seconds(5))
        #expect(world.responses.keys.sorted() == [0, 1, 2, 3])
    }

    @Test("After 429 TooManyRequests a device gets one request per interval, and no other request waits")
    func deviceThrottleInterval() throws {
        let device = try #require(DeviceToken("beef"))
        let world = try World { $0.deviceThrottleInterval = .seconds(2) }
        var arrivals: [Instant] = []
        world.onRequest = { [unowned world] server, received in
            guard received.header(":path") == "/3/device/beef" else { return server.respond(received.stream) }
            arrivals.append(world.now.instant)
            if arrivals.count > 1 { return server.respond(received.stream) }
            server.respond(received.stream, 429, #"{"reason":"TooManyRequests"}"#)
        }
        func submit(_ handle: Handle, _ device: DeviceToken?) {
            world.pool.submit(Fixture.request(handle, device: device), handle: handle, at: world.now.instant)
        }
        submit(0, device)
        world.pass(.seconds(1))
        #expect(world.responses[0]?.status == 429)
        for handle in Handle(1)...4 { submit(handle, device) }
        for handle in Handle(10)..<20 { submit(handle, nil) }
        world.pass(.milliseconds(100))
        #expect(world.responses.keys.count { $0 >= 10 } == 10 && world.pool.waitingCount == 4)
        let isCancelled = world.pool.cancel(2)
        #expect(isCancelled && world.pool.waitingCount == 3)
        var statistics = world.pool.statistics(at: world.now.instant)
        #expect(statistics.throttledDevices == 1 && statistics.counters[.throttledNotifications] == 4)
        world.pass(.seconds(10))
        #expect(Set(world.responses.keys).isSuperset(of: [1, 3, 4]) && arrivals.count == 4)
        #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $1 - $0 >= .seconds(2) - .milliseconds(20) })
        statistics = world.pool.statistics(at: world.now.instant)
        #expect(statistics.throttledDevices == 0 && world.pool.waitingCount == 0)
    }

    @Test("A draining pool returns the requests that wait for a device")
    func drainWhileSpaced() throws {
        let device = try #require(DeviceToken("beef"))
        let world = try World()
        world.onRequest = { $0.respond($1.stream, 429, #"{"reason":"TooManyRequests"}"#) }
        func submit(_ handle: Handle) {
            world.pool.submit(Fixture.request(handle, device: device), handle: handle, at: world.now.instant)
        }
        submit(0)
        world.pass(.milliseconds(500))
        submit(1)
        submit(2)
        world.pass(.milliseconds(100))
        #expect(world.pool.waitingCount == 2)
        world.pool.drain(at: world.now.instant)
        world.pass(.seconds(1))
        #expect(world.endings == 3 && world.pool.isDrained)
        #expect([1, 2].allSatisfy { world.losses[$0]?.processed == .no })
    }
}
