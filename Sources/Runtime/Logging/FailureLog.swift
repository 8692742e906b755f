import Core

/// Collapses the log lines about a connection that fails repeatedly.
struct FailureLog {
    /// The interval until the first line about further failures; each line doubles it.
    private static let firstInterval = Duration.seconds(30)
    private static let longestInterval = Duration.seconds(600)

    enum Report: Equatable {
        /// A connection that was open has ended.
        case lost
        /// The first attempt failed.
        case failed
        case stillFailing(attempts: Int, since: Duration)
    }

    private var isOpen = false
    private var attempts = 0
    private var since: Instant?
    private var interval = firstInterval
    private var nextLine = Instant.distantPast

    mutating func opened() {
        self = FailureLog()
        isOpen = true
    }

    /// - Parameter isOpen: whether another connection of the same kind is still open.
    /// - Returns: the line to log; `nil` for none.
    mutating func ended(isOpen others: Bool = false, at now: Instant) -> Report? {
        let wasOpen = isOpen
        isOpen = others
        guard !wasOpen, let began = since else {
            since = now
            nextLine = now + interval
            attempts = wasOpen ? 0 : 1
            return wasOpen ? .lost : .failed
        }
        attempts += 1
        guard nextLine <= now else { return nil }
        interval = interval.doubled(1, atMost: Self.longestInterval)
        nextLine = now + interval
        return .stillFailing(attempts: attempts, since: now - began)
    }
}
