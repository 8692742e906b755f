import Core

/// Which addresses a connect tries, and how long it waits for each.
///
/// The time that is left is shared among the addresses that are left, so that a dead one does not use up all of it.
struct ConnectAttempts {
    struct Attempt {
        let address: SocketAddress
        let begun: Instant
        let deadline: Instant
    }

    /// The most addresses of a name that are tried.
    static let maximumAddresses = 8
    /// A share is not made shorter than this, lest many addresses leave too little time for any of them.
    static let shortest = Duration.milliseconds(250)

    /// When the whole connect ends.
    let deadline: Instant
    private var untried: ArraySlice<SocketAddress>
    private(set) var current: Attempt?

    /// - Parameter addresses: In the order in which they are to be tried.
    init(_ addresses: [SocketAddress], deadline: Instant) {
        untried = addresses.prefix(Self.maximumAddresses)
        self.deadline = deadline
    }

    /// Begins the next attempt; `nil` when no address or no time is left.
    mutating func next(at now: Instant) -> Attempt? {
        guard now < deadline, !untried.isEmpty else { return nil }
        let share = max((deadline - now) / untried.count, Self.shortest)
        let attempt = Attempt(address: untried.removeFirst(), begun: now, deadline: min(deadline, now + share))
        current = attempt
        return attempt
    }
}
