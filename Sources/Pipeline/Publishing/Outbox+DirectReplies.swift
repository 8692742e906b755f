package import Core
import DequeModule

/// Direct replies: whether their requesters are connected, and how long they wait.
extension Outbox {
    // MARK: Requesters

    /// Whether the broker is to be asked about a requester, or has not answered yet.
    package var checksRequesters: Bool { !requesters.isEmpty }

    /// The name of the requester that the broker is to be asked about now. ``requesterChecked(isConnected:at:)`` or
    /// ``requesterCheckLost()`` says what became of it.
    package mutating func nextRequester() -> ArraySlice<UInt8>? {
        requesters.next()
    }

    /// The broker has told whether the requester of returned replies is connected. One that is has got them: it was
    /// connected when they were published.
    package mutating func requesterChecked(isConnected: Bool, at now: Moment) {
        for reply in requesters.answered() {
            if isConnected {
                taken(reply, at: now)
            } else {
                counters[.returned] += 1
                returned(reply, "its requester has gone", at: now)
            }
        }
    }

    /// The connection over which the broker was asked is gone.
    package mutating func requesterCheckLost() {
        requesters.lost()
    }

    // MARK: Waiting

    /// How long a direct reply may wait for its connection.
    private var replyPatience: Duration {
        refusedResults.isStopped
            ? min(refusedResults.patience, Self.replyPatienceInDrain) : refusedResults.patience
    }

    /// Long enough to connect once.
    private static let replyPatienceInDrain = Duration.seconds(5)

    /// Whether direct replies wait that could go elsewhere.
    private var holdsReplies: Bool {
        guard outlets[PublishLane.queues.rawValue].isOpen else { return false }
        return requesters.waitingSince != nil || PublishLane.directReplies.contains { outlets[$0.rawValue].waiting > 0 }
    }

    /// When the next direct reply has waited too long for its connection, or to be asked about; `nil` while none waits,
    /// or nothing else could be done with it.
    var nextOverdueReply: Instant? {
        guard holdsReplies else { return nil }
        var earliest: Instant?
        for lane in PublishLane.directReplies {
            let outlet = outlets[lane.rawValue]
            for since in [outlet.unpublished.first?.waitingSince, outlet.suspects.waitingSince] {
                guard let since else { continue }
                earliest = min(earliest ?? .distantFuture, since + replyPatience)
            }
        }
        if let since = requesters.waitingSince { earliest = min(earliest ?? .distantFuture, since + replyPatience) }
        return earliest
    }

    /// Sends direct replies elsewhere that have waited too long for their connection, or to be asked about.
    mutating func giveUpOverdueReplies(at now: Moment) {
        guard holdsReplies else { return }
        func isOverdue(_ since: Instant?) -> Bool {
            since.map { $0 + replyPatience <= now.instant } ?? false
        }
        while isOverdue(requesters.waitingSince) { divertReplies(requesters.popOldest(), at: now) }
        for lane in PublishLane.directReplies {
            let index = lane.rawValue
            var overdue: [PendingPublication] = []
            while isOverdue(outlets[index].unpublished.first?.waitingSince),
                let pending = outlets[index].unpublished.popFirst()
            {
                overdue.append(pending)
            }
            while isOverdue(outlets[index].suspects.waitingSince), let pending = outlets[index].suspects.popWaiting() {
                overdue.append(pending)
            }
            divertReplies(overdue, at: now)
        }
    }
}
