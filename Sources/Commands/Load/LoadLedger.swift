import Core

/// The published messages and replies of a load run; each message expects one reply.
struct LoadLedger: Sendable {
    /// When each message without a reply was first published.
    private var waiting: [Int: Instant] = [:]
    private var start: Instant?
    /// From the first publish to the last reply.
    private(set) var elapsed = Duration.zero
    /// From publish to reply of every answered message, in the order of the replies.
    private(set) var latencies: [Duration] = []
    private(set) var published = 0
    private(set) var duplicates = 0
    /// Replies to messages of other runs.
    private(set) var strangers = 0
    /// Replies by outcome and reason; only the first one of each message.
    private(set) var outcomes: [String: Int] = [:]

    /// Records the first publish of a message, in their order; a repetition after a lost connection does not count.
    mutating func published(_ index: Int, at now: Instant) {
        guard index == published else { return }
        start = start ?? now
        waiting[index] = now
        published += 1
    }

    mutating func responded(_ index: Int?, outcome: String, at now: Instant) {
        guard let index, (0..<published).contains(index), let start else { return strangers += 1 }
        guard let publishedAt = waiting.removeValue(forKey: index) else { return duplicates += 1 }
        latencies.append(now - publishedAt)
        elapsed = now - start
        outcomes[outcome, default: 0] += 1
    }

    var responded: Int { latencies.count }

    var missing: Int { waiting.count }

    /// The percentile of sorted latencies (nearest rank); `nil` if there are none.
    static func percentile(_ share: Double, of sorted: [Duration]) -> Duration? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
