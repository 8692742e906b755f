import Core
package import Decoding

extension DeadLetterRun.End {
    /// The machine-readable name.
    package var name: String {
        switch self {
        case .complete: "complete"
        case .stopped: "interrupted"
        case .aborted: "aborted"
        case .locked: "locked"
        case .failed, .unwritable: "failed"
        }
    }
}

extension DeadLetterRun {
    /// The reason for the end, for operators.
    package var explanation: String {
        switch end {
        case .complete, nil: "complete"
        case .stopped: "interrupted: messages that were not sent are still in the queue"
        case .aborted: "aborted: \(tally.arrivals) messages came into the queue while \(tally.done) were replayed"
        case .locked:
            "another dead-letters command works on queue \"\(settings.queue)\" and holds the lock "
                + "\(Self.lockName(of: settings.queue)); the name of its connection shows the command, the host and "
                + "the process (rabbitmqctl list_connections client_properties)"
        case .unwritable(let message): "cannot write the file: \(message)"
        case .failed(let message): message
        }
    }
}

extension DeadLetterTally {
    /// As JSON members.
    ///
    /// - Parameter verb: the name of the count of completed messages.
    package func members(_ verb: String) -> [(String, JSONOutput)] {
        [
            ("messages", .integer(atStart)), ("seen", .integer(seen)), ("chosen", .integer(chosen)),
            (verb, .integer(done)), ("left", .integer(left)), ("refused", .integer(refused)),
            ("complaints", .array(complaints.map { .text($0) })), ("moved_to_end", .integer(renewed)),
            ("uncertain", .integer(uncertain)), ("arrived", .integer(arrivals)),
        ]
    }
}

extension DeadLetterGroups {
    /// As JSON members.
    ///
    /// - Parameter target: the destination of each group; `nil` omits it.
    package func members(target: ((Key) -> String?)? = nil) -> [(String, JSONOutput)] {
        let objects = sorted.map { key, group in
            let members: [(String, JSONOutput)] = [
                ("maker", .text(key.maker.rawValue)), ("outcome", .optional(key.outcome)),
                ("reason", .optional(key.reason)),
                ("queue", .optional(key.queue)), ("count", .integer(group.count)),
                ("first_failed_at", .optional(group.firstFailedAt?.inUTC)),
                ("last_failed_at", .optional(group.lastFailedAt?.inUTC)), ("replayed", .integer(group.replayed)),
                ("most_replays", .integer(group.mostReplays)),
            ]
            return JSONOutput.object(members + (target.map { [("target", .optional($0(key)))] } ?? []))
        }
        return [("groups", .array(objects)), ("other", .integer(others))]
    }
}
