import Core
import TestSupport
import Testing

@testable import Pipeline

@Suite("ThrottledDevices")
struct ThrottledDevicesTests {
    private func device(_ number: Int) throws -> DeviceToken {
        let digits = String(number, radix: 16)
        return try #require(DeviceToken(String(repeating: "0", count: 8 - digits.count) + digits))
    }

    private func second(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: seconds * 1_000_000_000)
    }

    @Test("A device that is refused again is throttled for longer")
    func again() throws {
        var devices = ThrottledDevices()
        _ = devices.throttle(try device(1), until: second(5), at: second(0))
        _ = devices.throttle(try device(2), until: second(6), at: second(1))
        _ = devices.throttle(try device(1), until: second(9), at: second(4))
        let states = try [(1, 5), (1, 8), (2, 8), (1, 9)].map { devices.contains(try device($0), at: second($1)) }
        #expect(states == [true, true, false, false] && devices.isEmpty)
    }

    @Test("Beyond the limit the device that was throttled first is forgotten")
    func limit() throws {
        var devices = ThrottledDevices()
        let madeRoom = try (0...10_000).map { devices.throttle(try device($0), until: second(5), at: second(0)) }
        let states = try [0, 1, 10_000].map { devices.contains(try device($0), at: second(1)) }
        #expect(madeRoom.firstIndex(of: true) == 10_000 && states == [false, true, true])
        let later = devices.throttle(try device(0), until: second(11), at: second(6))
        #expect(!later, "devices whose time is over make room first")
    }
}
