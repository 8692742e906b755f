import Core

/// The published messages and replies of a load run; each message expects one reply.
struct LoadLedger: Sendable {
    private var publishedAt: [Instant?]
    private var respondedAt: [Instant?]
    private(set) var duplicates = 0
    /// Replies to messages of other runs.
    private(set) var strangers = 0
    /// Replies by outcome and reason; only the first one of each message.
    private(set) var outcomes: [String: Int] = [:]
    private(set) var responded = 0
    private(set) var published = 0

    init(count: Int) {
        publishedAt = Array(repeating: nil, count: count)
        respondedAt = Array(repeating: nil, count: count)
    }

    /// Records the first publish of a message; a repetition after a lost connection does not count.
    mutating func published(_ index: Int, at now: Instant) {
        guard publishedAt[index] == nil else { return }
        publishedAt[index] = now
        published += 1
    }

    mutating func responded(_ index: Int?, outcome: String, at now: Instant) {
        guard let index, publishedAt.indices.contains(index), publishedAt[index] != nil else {
            strangers += 1
            return
        }
        guard respondedAt[index] == nil else {
            duplicates += 1
            return
        }
        respondedAt[index] = now
        responded += 1
        outcomes[outcome, default: 0] += 1
    }

    var missing: Int {
        published - responded
    }

    /// The time from publish to reply of every answered message, shortest first.
    var latencies: [Duration] {
        zip(publishedAt, respondedAt).compactMap { published, responded in
            guard let published, let responded else { return nil }
            return responded - published
        }.sorted()
    }

    /// From the first publish to the last reply.
    var elapsed: Duration {
        guard let first = publishedAt.compactMap({ $0 }).min(), let last = respondedAt.compactMap({ $0 }).max() else {
            return .zero
        }
        return last - first
    }

    /// The percentile of sorted latencies (nearest rank); `nil` if there are none.
    static func percentile(_ share: Double, of sorted: [Duration]) -> Duration? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
