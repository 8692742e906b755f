package import Core
package import System

/// Detects when the files of a configuration have changed and are completely written.
///
/// It polls instead of using kernel notifications. Polling detects the changes by editors, copies and mounted secrets
/// on any file system.
package struct FileWatch {
    private static let interval = Duration.seconds(10)

    package private(set) var nextCheck: Instant
    /// The files of the active configuration, or of the one that was refused since.
    private var read: [String: FileStamp]
    private var seen: [String: FileStamp]

    /// - Parameter stamps: of the files that were read, by path.
    package init(reading stamps: [String: FileStamp], at now: Instant) {
        nextCheck = now + Self.interval
        read = stamps
        seen = stamps
    }

    /// - Parameter stamps: of the files that exist now.
    /// - Returns: whether they differ from the files that were read, and did not change since the last poll. A missing
    ///   file counts as different: the reload then names it.
    package mutating func checked(_ stamps: [String: FileStamp], at now: Instant) -> Bool {
        nextCheck = now + Self.interval
        defer { seen = stamps }
        return stamps != read && stamps == seen
    }
}
