import Core

/// So many in so long, counted from the first one: `5 per 10s`.
package struct Rate: Equatable, Sendable {
    package var count: Int
    package var period: Duration

    package init(_ count: Int, per period: Duration) {
        self.count = count
        self.period = period
    }
}

/// What one rate has let through lately.
struct RateWindow {
    private var begin: Instant
    private var count = 0

    init(from begin: Instant) {
        self.begin = begin
    }

    /// - Returns: `false` if there were as many in this period as there may be.
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

/// How many notifications each device has been sent lately, over all connections.
///
/// Source: "Handling notification responses from APNs", `TooManyRequests`.
struct DeviceThrottle {
    /// Devices that are remembered at a time.
    private let capacity: Int
    private var devices: [[UInt8]: RateWindow] = [:]

    init(capacity: Int = 1_000_000) {
        self.capacity = capacity
    }

    /// - Parameter token: in lower case.
    /// - Returns: `false` if the device has had as many as it may have.
    mutating func admit(_ token: ArraySlice<UInt8>, _ rate: Rate, at now: Instant) -> Bool {
        let token = Array(token)
        if devices[token] == nil, devices.count >= capacity {
            devices = devices.filter { !$0.value.isOver(rate, at: now) }
            // With a full memory a device that is not in it is let through.
            guard devices.count < capacity else { return true }
        }
        return devices[token, default: RateWindow(from: now)].admit(rate, at: now)
    }
}
