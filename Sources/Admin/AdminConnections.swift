package import Core

/// Which of the admin server's connections have to go: those beyond the limits, the oldest first, and those that have
/// taken too long.
///
/// A connection carries one request, so that its age alone tells who is slow, and it is the slow who go when there are
/// too many: whoever asks at once is answered, also while a thousand others say nothing.
package struct AdminConnections {
    /// Open at once.
    package static let maximum = 128
    /// Of these, from one address.
    package static let maximumPerAddress = 64
    /// From the connection's beginning until its answer has been sent, unless a test is in a hurry.
    package static let longest = Duration.seconds(10)

    private struct Entry {
        let handle: UInt32
        let address: String
        let openedAt: Instant
    }

    /// Those that have not been told to go, oldest first.
    private var entries: [Entry] = []
    private let longest: Duration

    package init(longest: Duration = longest) {
        self.longest = longest
    }

    /// A connection was opened.
    ///
    /// - Returns: The one that has to go for it.
    package mutating func opened(_ handle: UInt32, from address: String, at now: Instant) -> UInt32? {
        entries.append(Entry(handle: handle, address: address, openedAt: now))
        let leaving: Int?
        if entries.count(where: { $0.address == address }) > Self.maximumPerAddress {
            leaving = entries.firstIndex { $0.address == address }
        } else {
            leaving = entries.count > Self.maximum ? 0 : nil
        }
        return leaving.map { entries.remove(at: $0).handle }
    }

    /// A connection has ended, told to or not.
    package mutating func closed(_ handle: UInt32) {
        entries.removeAll { $0.handle == handle }
    }

    /// When the next one has taken too long.
    package var nextDeadline: Instant? {
        entries.first.map { $0.openedAt + longest }
    }

    /// The next one that has taken too long.
    package mutating func popOverdue(at now: Instant) -> UInt32? {
        guard let first = entries.first, first.openedAt + longest <= now else { return nil }
        return entries.removeFirst().handle
    }
}
