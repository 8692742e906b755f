package import Core
package import System

/// Detects when the files of a configuration have changed and are completely written.
///
/// It polls instead of using kernel notifications. Polling detects the changes by editors, copies and mounted secrets
/// on any file system.
package struct FileWatch {
    package enum Finding {
        case unchanged
        /// A file has changed since the last poll: it may not be complete yet.
        case changing
        /// A file differs from the one that was read, or is gone, and none has changed since the last poll.
        case changed
    }

    private static let interval = Duration.seconds(10)

    package private(set) var nextCheck: Instant
    private var read: [String: FileStamp]
    private var seen: [String: FileStamp]

    /// - Parameter stamps: of the files that were read, by path.
    package init(reading stamps: [String: FileStamp], at now: Instant) {
        nextCheck = now + Self.interval
        read = stamps
        seen = stamps
    }

    /// - Parameter stamps: of the files that exist now.
    package mutating func checked(_ stamps: [String: FileStamp], at now: Instant) -> Finding {
        nextCheck = now + Self.interval
        defer { seen = stamps }
        guard stamps != read else { return .unchanged }
        return stamps == seen ? .changed : .changing
    }
}
