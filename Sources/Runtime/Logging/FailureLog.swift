package import Core
package import Logging

/// Collapses the log lines about a connection that fails repeatedly.
package struct FailureLog {
    /// The interval until the first line about further failures; each line doubles it.
    private static let firstInterval = Duration.seconds(30)
    private static let longestInterval = Duration.seconds(600)

    package enum Report: Equatable {
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

    package init() {}

    package mutating func opened() {
        self = FailureLog()
        isOpen = true
    }

    /// - Parameter isOpen: whether another connection of the same kind is still open.
    /// - Returns: the line to log; `nil` for none.
    package mutating func ended(isOpen others: Bool = false, at now: Instant) -> Report? {
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

extension Logger {
    package func logFailure(_ report: FailureLog.Report, _ what: String, _ fields: Logger.Metadata) {
        guard case .stillFailing(let attempts, let time) = report else {
            return warning("\(what); trying again", metadata: fields)
        }
        let seconds = time.components.seconds
        warning(
            "\(what): still failing (\(attempts) attempts, \(seconds) s)",
            metadata: fields.merging(
                ["attempts": .stringConvertible(attempts), "seconds": .stringConvertible(seconds)]) { $1 })
    }
}
