package import Core
package import System

/// Detects when the files of a configuration have changed and are completely written.
///
/// It polls instead of using kernel notifications. Polling detects the changes by editors, copies and mounted secrets
/// on any file system.
package struct FileWatch {
    /// `nil` if nothing is watched.
    private let interval: Duration?
    package private(set) var nextCheck: Instant?
    /// The files of the active configuration, or of the one that was refused since.
    private var read: [String: FileStamp]
    /// The files at the last poll.
    private var seen: [String: FileStamp]

    /// - Parameter stamps: of the files that were read, by path.
    package init(interval: Duration?, reading stamps: [String: FileStamp], at now: Instant) {
        self.interval = interval
        nextCheck = interval.map { now + $0 }
        read = stamps
        seen = stamps
    }

    /// - Parameters:
    ///   - stamps: of the files that exist now.
    ///   - count: the number of files that must exist.
    /// - Returns: whether they differ from the files that were read, are complete, and did not change since the last
    ///   poll.
    package mutating func checked(_ stamps: [String: FileStamp], of count: Int, at now: Instant) -> Bool {
        nextCheck = interval.map { now + $0 }
        defer { seen = stamps }
        return stamps != read && stamps == seen && stamps.count == count
    }
}
