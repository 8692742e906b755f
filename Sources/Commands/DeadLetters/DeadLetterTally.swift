/// The results of the messages that a run processed.
struct DeadLetterTally: Sendable, Equatable {
    /// Messages in the queue at the start.
    var atStart = 0
    var seen = 0
    /// Messages that the filter selected, up to the limit.
    var chosen = 0
    /// Read, exported, discarded, or confirmed at their destination.
    var done = 0
    /// Those of them that have left the queue or the archive.
    var removed = 0
    /// Not replayed, because APNs accepted their requests.
    var accepted = 0
    /// Selected, but left in the queue because of a failure.
    private(set) var refused = 0
    /// The reasons for refusals, in order of their first occurrence; at most ``maximumComplaints``.
    private(set) var complaints: [String] = []
    /// Their texts, without the first message.
    private var texts: Set<String> = []
    /// Possibly duplicated: sent without a confirm, or without an acknowledgement of the original.
    var uncertain = 0

    /// The maximum of stored complaints; further ones are only counted.
    static let maximumComplaints = 10

    /// Those of them that are still in the queue.
    var left: Int { max(0, atStart - removed) }

    /// - Parameter name: of the message.
    mutating func complain(_ text: String, about name: String? = nil) {
        refused += 1
        guard complaints.count < Self.maximumComplaints, texts.insert(text).inserted else { return }
        complaints.append(name.map { "\(text) (first: \($0))" } ?? text)
    }
}
