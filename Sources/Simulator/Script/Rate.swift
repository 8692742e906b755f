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
        if now - begin >= rate.period {
            begin = now
            count = 0
        }
        guard count < rate.count else { return false }
        count += 1
        return true
    }
}
