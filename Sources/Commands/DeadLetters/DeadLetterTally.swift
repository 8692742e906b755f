/// The results of the messages that a run processed.
///
package struct DeadLetterTally: Sendable, Equatable {
    /// Messages in the queue at the start; the run processes this number.
    package internal(set) var atStart = 0
    package internal(set) var seen = 0
    /// Messages that the filter selected, up to the limit.
    package internal(set) var chosen = 0
    /// Read, exported, discarded, or confirmed at their destination.
    package internal(set) var done = 0
    /// Those of them that have left the queue or the archive.
    package internal(set) var removed = 0
    /// Not replayed, because APNs accepted their requests.
    package internal(set) var accepted = 0
    /// Selected, but left in the queue because of a failure.
    package internal(set) var refused = 0
    private var reasons: [Complaint] = []
    /// Copied to the end of the queue and acknowledged.
    package internal(set) var renewed = 0
    /// Possibly duplicated: sent without a confirm, or without an acknowledgement of the original.
    package internal(set) var uncertain = 0
    /// Messages that arrived in the queue since the start, according to its length.
    package internal(set) var arrivals = 0

    /// The maximum of stored complaints; further ones are only counted.
    package static let maximumComplaints = 10

    private struct Complaint: Equatable {
        let text: String
        /// The first message with this complaint.
        let name: String?
    }

    package init() {}

    /// Messages from the start that are still in the queue.
    package var left: Int { max(0, atStart - removed) }

    /// The reasons for refusals, in order of their first occurrence; at most ``maximumComplaints``.
    package var complaints: [String] {
        reasons.map { reason in reason.name.map { "\(reason.text) (first: \($0))" } ?? reason.text }
    }

    mutating func complain(_ text: String, about name: String? = nil) {
        refused += 1
        guard reasons.count < Self.maximumComplaints, !reasons.contains(where: { $0.text == text }) else { return }
        reasons.append(Complaint(text: text, name: name))
    }
}
