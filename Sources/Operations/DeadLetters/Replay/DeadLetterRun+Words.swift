import Core
package import Decoding

extension DeadLetterRun.End {
    /// For programs.
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
    /// Why it has ended, for a person.
    package var explanation: String {
        switch end {
        case .complete, nil: "complete"
        case .stopped: "interrupted: what was not sent is still there"
        case .aborted: "aborted: \(tally.arrivals) messages came into the queue while \(tally.done) were replayed"
        case .locked:
            "another run has the queue \(Self.lockName(of: settings.queue)); the name of its connection says which "
                + "process that is (rabbitmqctl list_connections client_properties)"
        case .unwritable(let message): "cannot write the file: \(message)"
        case .failed(let message): message
        }
    }
}

extension DeadLetterRun.Settings {
    /// For fresh copies of what a scan of a queue found delivered too often; what is nearly as far goes along, so that
    /// they stay together.
    package static func renewing(_ queue: String) -> Self {
        var settings = Self(queue: queue)
        settings.mostDeliveries -= 2
        return settings
    }
}

extension DeadLetterTally {
    /// As members of an object for programs.
    ///
    /// - Parameter verb: names what was done.
    package func members(_ verb: String) -> [(String, JSONAnswer)] {
        [
            ("messages", .integer(atStart)), ("seen", .integer(seen)), ("chosen", .integer(chosen)),
            (verb, .integer(done)), ("left", .integer(left)), ("refused", .integer(refused)),
            ("complaints", .array(complaints.map { .text($0) })), ("moved_to_end", .integer(renewed)),
            ("uncertain", .integer(uncertain)), ("arrived", .integer(arrivals)),
        ]
    }
}

extension DeadLetterGroups {
    /// As members of an object for programs.
    ///
    /// - Parameter target: where each group would go; `nil` leaves that out.
    package func members(target: ((Key) -> String?)? = nil) -> [(String, JSONAnswer)] {
        let objects = sorted.map { key, group in
            let members: [(String, JSONAnswer)] = [
                ("maker", .text(key.maker.rawValue)), ("outcome", .optional(key.outcome)),
                ("reason", .optional(key.reason)),
                ("queue", .optional(key.queue)), ("count", .integer(group.count)),
                ("first_failed_at", .optional(group.firstFailedAt?.inUTC)),
                ("last_failed_at", .optional(group.lastFailedAt?.inUTC)), ("replayed", .integer(group.replayed)),
                ("most_replays", .integer(group.mostReplays)),
            ]
            return JSONAnswer.object(members + (target.map { [("target", .optional($0(key)))] } ?? []))
        }
        return [("groups", .array(objects)), ("other", .integer(others))]
    }
}
