import APNs
import Core
import TestSupport
import Testing

@Suite("DeviceSpacing")
struct DeviceSpacingTests {
    private func token(_ number: Int) throws -> DeviceToken {
        let digits = String(number, radix: 16)
        return try #require(DeviceToken(String(repeating: "0", count: 8 - digits.count) + digits))
    }

    private func spacing(devices: Int = 10) -> DeviceSpacing {
        DeviceSpacing(interval: .seconds(1), maximumDevices: devices, maximumWaiting: 100)
    }

    private func releaseAll(_ spacing: inout DeviceSpacing, at seconds: Double) -> [Handle] {
        var released: [Handle] = []
        while let ticket = spacing.release(at: .seconds(seconds)) { released.append(ticket) }
        return released
    }

    @Test("Requests of a throttled device are released one by one, an interval apart; then the device is forgotten")
    func oneByOne() throws {
        var spacing = spacing()
        let device = try token(1)
        let released = spacing.refused(device, at: .seconds(0)).released
        #expect(released.isEmpty)
        let holds = try [(0, 1), (1, 1), (2, 1), (9, 2)].map { spacing.hold($0, for: try token($1)) }
        #expect(holds == [.held, .held, .held, .none])
        #expect(spacing.nextDeadline == .seconds(1) && spacing.waitingCount == 3)
        let turns = [0.9, 1, 1.5, 2, 3.5].map { releaseAll(&spacing, at: $0) }
        #expect(turns == [[], [0], [], [1], [2]])
        #expect(spacing.count == 1 && spacing.nextDeadline == .seconds(4.5))
        let last = releaseAll(&spacing, at: 4.5)
        #expect(last.isEmpty && spacing.isEmpty && spacing.nextDeadline == nil)
    }

    @Test("Another refusal restarts the interval")
    func again() throws {
        var spacing = spacing()
        let device = try token(1)
        _ = spacing.refused(device, at: .seconds(0))
        _ = spacing.hold(1, for: device)
        _ = spacing.refused(device, at: .seconds(0.5))
        let turns = [1.4, 1.5].map { releaseAll(&spacing, at: $0) }
        #expect(turns == [[], [1]])
    }

    @Test("When the table is full, the device held back for longest is released with all its requests")
    func full() throws {
        var spacing = spacing(devices: 2)
        _ = spacing.refused(try token(1), at: .seconds(0))
        _ = spacing.refused(try token(2), at: .seconds(0.1))
        for (ticket, device) in [(0, 1), (1, 1), (7, 2)] { _ = spacing.hold(Handle(ticket), for: try token(device)) }
        let (madeRoom, released) = spacing.refused(try token(3), at: .seconds(0.2))
        #expect(madeRoom)
        #expect(released == [0, 1] && spacing.count == 2 && spacing.waitingCount == 1)
        let hold = spacing.hold(8, for: try token(1))
        let all = spacing.removeAll()
        #expect(hold == .none && all == [7] && spacing.isEmpty && spacing.waitingCount == 0)
    }

    @Test("At most as many requests as the limit wait for one device; others still may")
    func crowded() throws {
        var spacing = DeviceSpacing(interval: .seconds(1), maximumDevices: 10, maximumWaiting: 2)
        for device in 1...2 { _ = spacing.refused(try token(device), at: .seconds(0)) }
        let holds = try [(0, 1), (1, 1), (2, 1), (3, 2)].map { spacing.hold($0, for: try token($1)) }
        #expect(holds == [.held, .held, .crowded, .held] && spacing.waitingCount == 3)
        let released = releaseAll(&spacing, at: 1)
        let next = spacing.hold(4, for: try token(1))
        #expect(released == [0, 3] && next == .held)
    }

    @Test("In any sequence each request is released once, none before its time, and none stays forever")
    func walk() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix64(seed: seed)
        var spacing = spacing(devices: 5)
        var heldBack: [DeviceToken: Double] = [:]
        var waiting: [Handle: DeviceToken] = [:]
        var next = Handle(0)
        for step in 0..<5000 {
            let now = Double(step) / 16
            let device = try token(Int.random(in: 0..<8, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                for ticket in spacing.refused(device, at: .seconds(now)).released {
                    let freed = waiting.removeValue(forKey: ticket)
                    heldBack[try #require(freed)] = nil
                }
                heldBack[device] = now + 1
            case 1...3:
                if spacing.hold(next, for: device) == .held {
                    waiting[next] = device
                    next += 1
                } else {
                    try #require(waiting.values.contains(device) == false, "seed \(seed)")
                }
            case 4:
                if let (ticket, device) = waiting.randomElement(using: &random) {
                    let isRemoved = spacing.remove(ticket, for: device)
                    try #require(isRemoved, "seed \(seed)")
                    waiting[ticket] = nil
                }
            default:
                for ticket in releaseAll(&spacing, at: now) {
                    let freed = waiting.removeValue(forKey: ticket)
                    let device = try #require(freed)
                    try #require(heldBack[device, default: 0] <= now, "seed \(seed)")
                    heldBack[device] = now + 1
                }
            }
            try #require(spacing.waitingCount == waiting.count && spacing.count <= 5, "seed \(seed)")
        }
        var seconds = 1000.0
        while !spacing.isEmpty, seconds < 10_000 {
            for ticket in releaseAll(&spacing, at: seconds) { waiting[ticket] = nil }
            seconds += 1
        }
        try #require(spacing.isEmpty && waiting.isEmpty, "seed \(seed)")
    }
}
