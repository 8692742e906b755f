/// What became of the messages that a run looked at.
///
/// Of those that lay in the queue at the start, what was replayed, discarded or exported is gone, and all others are
/// left.
package struct DeadLetterTally: Sendable, Equatable {
    /// In the queue at the start: as many are looked at.
    package internal(set) var atStart = 0
    package internal(set) var seen = 0
    /// What the filter chose, up to the limit.
    package internal(set) var chosen = 0
    /// Done with: confirmed where it went, and acknowledged.
    package internal(set) var done = 0
    /// Chosen, and left because it could not be done.
    package internal(set) var refused = 0
    private var reasons: [Complaint] = []
    /// Copied to the end of the queue and acknowledged.
    package internal(set) var renewed = 0
    /// Perhaps there twice: sent, but the broker did not say so, or the acknowledgement could not be sent any more.
    package internal(set) var uncertain = 0
    /// Messages that came into the queue since the start, as far as its length tells.
    package internal(set) var arrivals = 0

    /// More different complaints are counted only.
    package static let maximumComplaints = 10

    private struct Complaint: Equatable {
        let text: String
        /// The first message that it is about.
        let name: String?
    }

    package init() {}

    /// What lay there at the start and still does.
    package var left: Int { max(0, atStart - done) }

    /// Why some were refused, in the order in which each reason came up first; ``maximumComplaints`` of them.
    package var complaints: [String] {
        reasons.map { reason in reason.name.map { "\(reason.text) (first: \($0))" } ?? reason.text }
    }

    mutating func complain(_ text: String, about name: String? = nil) {
        refused += 1
        guard reasons.count < Self.maximumComplaints, !reasons.contains(where: { $0.text == text }) else { return }
        reasons.append(Complaint(text: text, name: name))
    }
}
