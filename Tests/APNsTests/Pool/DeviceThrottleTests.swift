import APNs
import Core
import TestSupport
import Testing

@Suite("DeviceThrottle")
struct DeviceThrottleTests {
    private func token(_ number: Int) throws -> DeviceToken {
        let digits = String(number, radix: 16)
        return try #require(DeviceToken(String(repeating: "0", count: 8 - digits.count) + digits))
    }

    private func deviceThrottle(devices: Int = 10) -> DeviceThrottle {
        DeviceThrottle(interval: .seconds(1), maximumDevices: devices, maximumWaiting: 100)
    }

    private func releaseAll(_ deviceThrottle: inout DeviceThrottle, at seconds: Double) -> [Handle] {
        var released: [Handle] = []
        while let ticket = deviceThrottle.release(at: .seconds(seconds)) { released.append(ticket) }
        return released
    }

    @Test("Requests of a throttled device are released one by one, an interval apart; then the device is forgotten")
    func oneByOne() throws {
        var deviceThrottle = deviceThrottle()
        let device = try token(1)
        let released = deviceThrottle.refused(device, at: .seconds(0)).released
        #expect(released.isEmpty)
        let holds = try [(0, 1), (1, 1), (2, 1), (9, 2)].map { deviceThrottle.hold($0, for: try token($1)) }
        #expect(holds == [.held, .held, .held, .none])
        #expect(deviceThrottle.nextDeadline == .seconds(1) && deviceThrottle.waitingCount == 3)
        let turns = [0.9, 1, 1.5, 2, 3.5].map { releaseAll(&deviceThrottle, at: $0) }
        #expect(turns == [[], [0], [], [1], [2]])
        #expect(deviceThrottle.count == 1 && deviceThrottle.nextDeadline == .seconds(4.5))
        let last = releaseAll(&deviceThrottle, at: 4.5)
        #expect(last.isEmpty && deviceThrottle.isEmpty && deviceThrottle.nextDeadline == nil)
    }

    @Test("Another refusal restarts the interval")
    func again() throws {
        var deviceThrottle = deviceThrottle()
        let device = try token(1)
        _ = deviceThrottle.refused(device, at: .seconds(0))
        _ = deviceThrottle.hold(1, for: device)
        _ = deviceThrottle.refused(device, at: .seconds(0.5))
        let turns = [1.4, 1.5].map { releaseAll(&deviceThrottle, at: $0) }
        #expect(turns == [[], [1]])
    }

    @Test("When the table is full, the device held back for longest is released with all its requests")
    func full() throws {
        var deviceThrottle = deviceThrottle(devices: 2)
        _ = deviceThrottle.refused(try token(1), at: .seconds(0))
        _ = deviceThrottle.refused(try token(2), at: .seconds(0.1))
        for (ticket, device) in [(0, 1), (1, 1), (7, 2)] {
            _ = deviceThrottle.hold(Handle(ticket), for: try token(device))
        }
        let (madeRoom, released) = deviceThrottle.refused(try token(3), at: .seconds(0.2))
        #expect(madeRoom)
        #expect(released == [0, 1] && deviceThrottle.count == 2 && deviceThrottle.waitingCount == 1)
        let hold = deviceThrottle.hold(8, for: try token(1))
        let all = deviceThrottle.removeAll()
        #expect(hold == .none && all == [7] && deviceThrottle.isEmpty && deviceThrottle.waitingCount == 0)
    }

    @Test("At most as many requests as the limit wait for one device; others still may")
    func queueFull() throws {
        var deviceThrottle = DeviceThrottle(interval: .seconds(1), maximumDevices: 10, maximumWaiting: 2)
        for device in 1...2 { _ = deviceThrottle.refused(try token(device), at: .seconds(0)) }
        let holds = try [(0, 1), (1, 1), (2, 1), (3, 2)].map { deviceThrottle.hold($0, for: try token($1)) }
        #expect(holds == [.held, .held, .queueFull, .held] && deviceThrottle.waitingCount == 3)
        let released = releaseAll(&deviceThrottle, at: 1)
        let next = deviceThrottle.hold(4, for: try token(1))
        #expect(released == [0, 3] && next == .held)
    }

    @Test("In any sequence each request is released once, none before its time, and none stays forever")
    func walk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var deviceThrottle = deviceThrottle(devices: 5)
        var heldBack: [DeviceToken: Double] = [:]
        var waiting: [Handle: DeviceToken] = [:]
        var next = Handle(0)
        for step in 0..<5000 {
            let now = Double(step) / 16
            let device = try token(Int.random(in: 0..<8, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                for ticket in deviceThrottle.refused(device, at: .seconds(now)).released {
                    let freed = waiting.removeValue(forKey: ticket)
                    heldBack[try #require(freed)] = nil
                }
                heldBack[device] = now + 1
            case 1...3:
                if deviceThrottle.hold(next, for: device) == .held {
                    waiting[next] = device
                    next += 1
                } else {
                    try #require(waiting.values.contains(device) == false, "seed \(seed)")
                }
            case 4:
                if let (ticket, device) = waiting.randomElement(using: &random) {
                    let isRemoved = deviceThrottle.remove(ticket, for: device)
                    try #require(isRemoved, "seed \(seed)")
                    waiting[ticket] = nil
                }
            default:
                for ticket in releaseAll(&deviceThrottle, at: now) {
                    let freed = waiting.removeValue(forKey: ticket)
                    let device = try #require(freed)
                    try #require(heldBack[device, default: 0] <= now, "seed \(seed)")
                    heldBack[device] = now + 1
                }
            }
            try #require(deviceThrottle.waitingCount == waiting.count && deviceThrottle.count <= 5, "seed \(seed)")
        }
        var seconds = 1000.0
        while !deviceThrottle.isEmpty, seconds < 10_000 {
            for ticket in releaseAll(&deviceThrottle, at: seconds) { waiting[ticket] = nil }
            seconds += 1
        }
        try #require(deviceThrottle.isEmpty && waiting.isEmpty, "seed \(seed)")
    }
}
