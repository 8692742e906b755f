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
    private var reasons: [Reason] = []
    /// Possibly duplicated: sent without a confirm, or without an acknowledgement of the original.
    var uncertain = 0

    /// The maximum of stored complaints; further ones are only counted.
    static let maximumComplaints = 10

    private struct Reason: Equatable {
        let text: String
        /// The first message with this complaint.
        let first: String?
    }

    /// Those of them that are still in the queue.
    var left: Int { max(0, atStart - removed) }

    /// The reasons for refusals, in order of their first occurrence; at most ``maximumComplaints``.
    var complaints: [String] {
        reasons.map { reason in reason.first.map { "\(reason.text) (first: \($0))" } ?? reason.text }
    }

    /// - Parameter name: of the message.
    mutating func complain(_ text: String, about name: String? = nil) {
        refused += 1
        guard reasons.count < Self.maximumComplaints, !reasons.contains(where: { $0.text == text }) else { return }
        reasons.append(Reason(text: text, first: name))
    }
}
