package import Core
import DequeModule

/// Direct replies: whether their requesters are connected, and how long they wait.
extension Outbox {
    // MARK: Requesters

    /// Whether checks of requesters are due or pending.
    package var checksRequesters: Bool { !requesters.isEmpty }

    /// The name of the requester to check now. ``requesterChecked(isConnected:at:)`` or ``requesterCheckLost()``
    /// reports the end of the check.
    package mutating func nextRequester() -> ArraySlice<UInt8>? {
        requesters.next()
    }

    /// The broker reported whether the requester of returned replies is connected. If so, it received them: it was
    /// connected when they were published.
    package mutating func requesterChecked(isConnected: Bool, at now: Moment) {
        for reply in requesters.responded() {
            if isConnected {
                taken(reply, at: now)
            } else {
                counters[.returned] += 1
                returned(reply, "the requester has disconnected", at: now)
            }
        }
    }

    /// The connection of a pending check was lost.
    package mutating func requesterCheckLost() {
        requesters.lost()
    }

    // MARK: Waiting

    /// The maximum wait of a direct reply for its connection.
    private var replyTimeout: Duration {
        refusedResults.isStopped
            ? min(refusedResults.timeLimit, Self.replyTimeoutInDrain) : refusedResults.timeLimit
    }

    /// Enough for one connection attempt.
    private static let replyTimeoutInDrain = Duration.seconds(5)

    /// Whether direct replies wait that can be diverted.
    private var holdsReplies: Bool {
        guard outlets[PublisherRole.queues.rawValue].isOpen else { return false }
        return requesters.waitingSince != nil
            || PublisherRole.directReplies.contains { outlets[$0.rawValue].waiting > 0 }
    }

    /// When the next direct reply has waited too long for its connection or its requester check. `nil` while none
    /// waits, or while the connection for queues is closed.
    var nextOverdueReply: Instant? {
        guard holdsReplies else { return nil }
        var earliest: Instant?
        for role in PublisherRole.directReplies {
            let outlet = outlets[role.rawValue]
            for since in [outlet.unpublished.first?.waitingSince, outlet.suspects.waitingSince] {
                guard let since else { continue }
                earliest = min(earliest ?? .distantFuture, since + replyTimeout)
            }
        }
        if let since = requesters.waitingSince { earliest = min(earliest ?? .distantFuture, since + replyTimeout) }
        return earliest
    }

    /// Diverts direct replies that have waited too long for their connection or their requester check.
    mutating func giveUpOverdueReplies(at now: Moment) {
        guard holdsReplies else { return }
        func isOverdue(_ since: Instant?) -> Bool {
            since.map { $0 + replyTimeout <= now.instant } ?? false
        }
        while isOverdue(requesters.waitingSince) { divertReplies(requesters.popOldest(), at: now) }
        for role in PublisherRole.directReplies {
            let index = role.rawValue
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
