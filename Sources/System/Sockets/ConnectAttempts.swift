import Core

/// The addresses that a connect tries, and the time for each.
///
/// The remaining time is divided among the remaining addresses. All but the last one get at most ``longest``, so an
/// unreachable address does not use up the time.
struct ConnectAttempts {
    struct Attempt {
        let address: SocketAddress
        let begun: Instant
        let deadline: Instant
    }

    /// The maximum of addresses tried per name.
    static let maximumAddresses = 8
    /// The minimum time per address, so that many addresses do not make all attempts too short.
    static let shortest = Duration.milliseconds(250)
    /// The maximum time if other addresses follow: enough for a reply to Linux's second SYN, sent after one second.
    static let longest = Duration.seconds(3)

    let deadline: Instant
    private var untried: ArraySlice<SocketAddress>
    private(set) var current: Attempt?

    /// - Parameter addresses: In the order of the attempts.
    init(_ addresses: [SocketAddress], deadline: Instant) {
        untried = addresses.prefix(Self.maximumAddresses)
        self.deadline = deadline
    }

    /// The addresses of `shuffled` with alternating families, starting with the first one's: if a whole family is
    /// unreachable, the second attempt uses the other. Source: RFC 8305, section 4.
    static func alternatingFamilies(_ shuffled: [SocketAddress]) -> [SocketAddress] {
        guard let first = shuffled.first else { return [] }
        let same = shuffled.filter { $0.family == first.family }
        let other = shuffled.filter { $0.family != first.family }
        let pairs = zip(same, other).flatMap { [$0, $1] }
        return pairs + same.dropFirst(other.count) + other.dropFirst(same.count)
    }

    /// Starts the next attempt; `nil` if no address or no time is left.
    mutating func next(at now: Instant) -> Attempt? {
        guard now < deadline, !untried.isEmpty else { return nil }
        let left = deadline - now
        let share = untried.count == 1 ? left : min(max(left / untried.count, Self.shortest), Self.longest)
        let attempt = Attempt(address: untried.removeFirst(), begun: now, deadline: min(deadline, now + share))
        current = attempt
        return attempt
    }
}
