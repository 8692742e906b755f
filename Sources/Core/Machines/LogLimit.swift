/// Lets one line of a kind through at a time, so that what befalls every message does not fill the log.
package struct LogLimit {
    private let interval: Duration
    private var next: Instant?
    private var heldBack = 0

    package init(interval: Duration) {
        self.interval = interval
    }

    /// - Returns: how many lines were held back before this one; `nil` to hold this one back as well.
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
