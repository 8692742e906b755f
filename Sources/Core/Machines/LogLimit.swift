/// Limits how often a kind of log line is written, so that an error of every message does not flood the log.
package struct LogLimit {
    private let interval: Duration
    private var next: Instant?
    private var heldBack = 0

    package init(interval: Duration) {
        self.interval = interval
    }

    /// - Returns: the number of lines suppressed before this one; `nil` to suppress this one as well.
    package mutating func admit(at now: Instant) -> Int? {
        if let next, now < next {
            heldBack += 1
            return nil
        }
        next = now + interval
        defer { heldBack = 0 }
        return heldBack
    }
}
