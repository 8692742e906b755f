package import Core
package import System

/// Tells when the files that a configuration was made of are other ones, and nobody is writing them any more.
///
/// Files are looked at now and then instead of being watched by the kernel: a look sees what an editor, a copy or the
/// link of a mounted secret leaves, whatever way it took, on any file system.
package struct FileWatch {
    /// `nil` where nothing is watched.
    private let interval: Duration?
    package private(set) var nextLook: Instant?
    /// What the configuration in force, or the one that was refused since, was read from.
    private var read: [String: FileStamp]
    /// What was there at the last look.
    private var seen: [String: FileStamp]

    /// - Parameter stamps: of the files that were read, by their paths.
    package init(interval: Duration?, reading stamps: [String: FileStamp], at now: Instant) {
        self.interval = interval
        nextLook = interval.map { now + $0 }
        read = stamps
        seen = stamps
    }

    /// - Parameters:
    ///   - stamps: of the files that are there now.
    ///   - count: how many there have to be.
    /// - Returns: whether they are others than those that were read, all there, and the same as at the look before.
    package mutating func looked(_ stamps: [String: FileStamp], of count: Int, at now: Instant) -> Bool {
        nextLook = interval.map { now + $0 }
        defer { seen = stamps }
        return stamps != read && stamps == seen && stamps.count == count
    }
}
