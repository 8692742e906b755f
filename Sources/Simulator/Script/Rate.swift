import Core

/// A count per period, starting with the first event: `5 per 10s`.
package struct Rate: Equatable, Sendable {
    package var count: Int
    package var period: Duration

    package init(_ count: Int, per period: Duration) {
        self.count = count
        self.period = period
    }
}

/// The recent events of one rate.
struct RateWindow {
    private var begin: Instant
    private var count = 0

    init(from begin: Instant) {
        self.begin = begin
    }

    /// - Returns: `false` if the period has reached its limit.
    mutating func admit(_ rate: Rate, at now: Instant) -> Bool {
        if isOver(rate, at: now) {
            begin = now
            count = 0
        }
        guard count < rate.count else { return false }
        count += 1
        return true
    }

    func isOver(_ rate: Rate, at now: Instant) -> Bool {
        now - begin >= rate.period
    }
}

/// The number of recent notifications to each device, over all connections.
///
/// Source: "Handling notification responses from APNs", `TooManyRequests`.
struct DeviceLimiter {
    /// The maximum number of devices in memory.
    private let capacity: Int
    private var devices: [[UInt8]: RateWindow] = [:]

    init(capacity: Int = 1_000_000) {
        self.capacity = capacity
    }

    /// - Parameter token: in lower case.
    /// - Returns: `false` if the device has reached its limit.
    mutating func admit(_ token: ArraySlice<UInt8>, _ rate: Rate, at now: Instant) -> Bool {
        let token = Array(token)
        if devices[token] == nil, devices.count >= capacity {
            devices = devices.filter { !$0.value.isOver(rate, at: now) }
            // At capacity, unknown devices are not limited.
            guard devices.count < capacity else { return true }
        }
        return devices[token, default: RateWindow(from: now)].admit(rate, at: now)
    }
}
