package import Core

/// Selects the admin server's connections to close: those that took too long, and beyond the limits the oldest.
///
/// A connection carries one request, so a connection's age identifies slow clients. Closing those first keeps the
/// server responsive while a thousand clients are idle.
package struct AdminConnections {
    /// The maximum number of open connections.
    package static let maximum = 128
    /// The maximum number per client address.
    package static let maximumPerAddress = 64
    /// From the connection's start until the end of its response; tests use a shorter time.
    package static let longest = Duration.seconds(10)

    private struct Entry {
        let handle: UInt32
        let address: String
        let openedAt: Instant
    }

    /// Those not yet asked to close, oldest first.
    private var entries: [Entry] = []
    private let longest: Duration

    package init(longest: Duration = longest) {
        self.longest = longest
    }

    /// Records a new connection.
    ///
    /// - Returns: The connection to close for it.
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

    /// Records that a connection has ended, for any reason.
    package mutating func closed(_ handle: UInt32) {
        entries.removeAll { $0.handle == handle }
    }

    /// When the next connection times out.
    package var nextDeadline: Instant? {
        entries.first.map { $0.openedAt + longest }
    }

    /// The next connection that has timed out.
    package mutating func popOverdue(at now: Instant) -> UInt32? {
        guard let first = entries.first, first.openedAt + longest <= now else { return nil }
        return entries.removeFirst().handle
    }
}
