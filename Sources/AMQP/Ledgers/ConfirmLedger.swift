import Core
import DequeModule

package enum Confirmation: Equatable, Sendable {
    /// The broker has accepted it.
    case acked
    /// The broker could not accept it (for example a full queue with `reject-publish`).
    case nacked
    /// No queue accepted it: reply code and text, for example 312 `NO_ROUTE`.
    case returned(code: UInt16, text: String)
    /// The connection ended before the broker confirmed it: the broker may have the message.
    case lost
}

/// Tracks the unconfirmed publishes of one connection; each ends once.
///
/// Confirms arrive in any order and may cover several publishes. A return arrives before the confirm of the same
/// publish and does not contain its number. It is matched by a fingerprint, oldest first. Source:
/// rabbitmq.com/docs/confirms and /docs/publishers (unroutable messages).
package struct ConfirmLedger {
    private struct Publish {
        var fingerprint: UInt64
        var isReturned = false
    }

    private var publishes: SequenceTable<Publish>
    /// The sequence number that corresponds to the broker's first tag.
    private let first: UInt64
    private var returns: [UInt64: Confirmation] = [:]
    private var returnable = ReturnIndex()

    package init(first: UInt64 = 1) {
        self.first = first
        publishes = SequenceTable(first: first)
    }

    package var unconfirmed: Int { publishes.count }
    package var nextSequence: UInt64 { publishes.next }

    /// Records a publish. The fingerprint need not be unique.
    package mutating func publishSent(fingerprint: UInt64) -> UInt64 {
        let sequence = nextSequence
        publishes.insert(Publish(fingerprint: fingerprint), at: sequence)
        return sequence
    }

    /// Records a returned publish. Returns false when no pending publish has that fingerprint.
    package mutating func returnReceived(fingerprint: UInt64, code: UInt16, text: String) -> Bool {
        if returnable.count > 2 * publishes.capacity { returnable = ReturnIndex() }
        while let sequence = publishes.first(from: returnable.end) {
            returnable.end = sequence + 1
            guard let publish = publishes[sequence], !publish.isReturned else { continue }
            returnable.sequences[publish.fingerprint, default: []].append(sequence)
            returnable.count += 1
        }
        returnable.end = nextSequence
        while let sequence = returnable.sequences[fingerprint]?.popFirst() {
            guard var publish = publishes[sequence] else { continue }
            publish.isReturned = true
            publishes.replace(sequence, with: publish)
            returns[sequence] = .returned(code: code, text: text)
            return true
        }
        return false
    }

    /// Records a confirm. Tag 0 with `multiple` means all; a tag that is not pending ends nothing.
    package mutating func confirmReceived(
        tag: UInt64, multiple: Bool, acked: Bool, _ each: (UInt64, Confirmation) -> Void
    ) {
        let confirmation = acked ? Confirmation.acked : .nacked
        let all = tag == 0 && multiple
        guard tag > 0 || all, all || tag - 1 < nextSequence - first else { return }
        let last = all ? nextSequence &- 1 : first + (tag - 1)
        if multiple {
            var start = publishes.oldest
            while let sequence = publishes.first(from: start), sequence <= last {
                end(sequence, confirmation, each)
                start = sequence + 1
            }
        } else {
            end(last, confirmation, each)
        }
    }

    /// The connection was lost: all pending publishes end as ``Confirmation/lost``, oldest first.
    package mutating func connectionLost(_ each: (UInt64, Confirmation) -> Void) {
        returnable = ReturnIndex()
        while publishes.count > 0 {
            end(publishes.oldest, .lost, each)
        }
    }

    private mutating func end(_ sequence: UInt64, _ confirmation: Confirmation, _ each: (UInt64, Confirmation) -> Void)
    {
        guard let isReturned = publishes.take(sequence)?.isReturned else { return }
        let returned = isReturned ? returns.removeValue(forKey: sequence) : nil
        if isReturned, unconfirmed == 0 { returnable = ReturnIndex() }
        each(sequence, confirmation == .acked ? returned ?? .acked : confirmation)
    }
}

/// Publishes by fingerprint, oldest first.
///
/// It is filled only when a return arrives: a connection whose publishes are all routed has none. Confirmed publishes
/// remain until they are popped or the index is rebuilt.
private struct ReturnIndex {
    var sequences: [UInt64: Deque<UInt64>] = [:]
    /// The number of publishes that were added.
    var count = 0
    /// The end of the indexed sequences, exclusive.
    var end: UInt64 = 0
}
