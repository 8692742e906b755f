import Core

/// Which addresses a connect tries, and how long it waits for each.
///
/// The time that is left is shared among the addresses that are left, and none but the last one gets more than
/// ``longest``: a dead one does not use up all of it, and is not waited for where there are others.
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
    /// The most for an address that others follow: time for Linux's second SYN, sent after one second, to be answered.
    static let longest = Duration.seconds(3)

    /// When the whole connect ends.
    let deadline: Instant
    private var untried: ArraySlice<SocketAddress>
    private(set) var current: Attempt?

    /// - Parameter addresses: In the order in which they are to be tried.
    init(_ addresses: [SocketAddress], deadline: Instant) {
        untried = addresses.prefix(Self.maximumAddresses)
        self.deadline = deadline
    }

    /// The addresses of `shuffled` with the families in turn, the first one's first: where a whole family leads
    /// nowhere, the second attempt is another's. Source: RFC 8305, section 4.
    static func alternatingFamilies(_ shuffled: [SocketAddress]) -> [SocketAddress] {
        guard let first = shuffled.first else { return [] }
        let same = shuffled.filter { $0.family == first.family }
        let other = shuffled.filter { $0.family != first.family }
        let pairs = zip(same, other).flatMap { [$0, $1] }
        return pairs + same.dropFirst(other.count) + other.dropFirst(same.count)
    }

    /// Begins the next attempt; `nil` when no address or no time is left.
    mutating func next(at now: Instant) -> Attempt? {
        guard now < deadline, !untried.isEmpty else { return nil }
        let left = deadline - now
        let share = untried.count == 1 ? left : min(max(left / untried.count, Self.shortest), Self.longest)
        let attempt = Attempt(address: untried.removeFirst(), begun: now, deadline: min(deadline, now + share))
        current = attempt
        return attempt
    }
}
