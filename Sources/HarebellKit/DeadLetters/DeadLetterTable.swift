import Decoding
import Operations

/// The dead letters that match a filter, in groups, as text or JSON.
struct DeadLetterTable {
    private let queue: String
    private let atStart: Int
    private let seen: Int
    private let groups: DeadLetterGroups
    /// The destination of each group; `nil` omits the column.
    private let target: ((DeadLetterGroups.Key) -> String?)?

    /// Scans the queue.
    init(
        _ access: DeadLetterAccess, _ options: DeadLetterOptions, target: ((DeadLetterGroups.Key) -> String?)? = nil
    ) throws {
        var groups = DeadLetterGroups()
        let scan = try access.scan(options.filter, limit: options.limit) { _, letter in
            groups.add(letter)
            return true
        }
        (queue, atStart, seen) = (access.queue, scan.atStart, scan.seen)
        self.groups = groups
        self.target = target
    }

    func show(asJSON: Bool, withSeen: Bool = false) {
        if asJSON {
            var members: [(String, JSONOutput)] = [("queue", .text(queue)), ("messages", .integer(atStart))]
            if withSeen { members.append(("seen", .integer(seen))) }
            printLine(json: members + [("chosen", .integer(groups.total))] + groups.members(target: target))
        } else {
            if groups.total > 0 { printLine(lines: lines) }
            printLine("\(groups.total) of \(atStart) messages in \(queue)")
        }
    }

    private var lines: [String] {
        var titles = ["COUNT", "OUTCOME", "REASON", "QUEUE", "FIRST FAILED AT", "LAST FAILED AT", "REPLAYED"]
        if target != nil { titles.append("TARGET") }
        var table = TextTable(titles)
        for (key, group) in groups.sorted {
            let outcome = key.outcome ?? (key.maker == .broker ? "(by the broker)" : "(unknown)")
            var row = [String(group.count), outcome, key.reason ?? "-", key.queue ?? "-"]
            row += [group.firstFailedAt?.inUTC ?? "-", group.lastFailedAt?.inUTC ?? "-", String(group.replayed)]
            if let target { row.append(target(key) ?? "none: --to QUEUE") }
            table.add(row)
        }
        return table.lines + (groups.others > 0 ? ["and \(groups.others) of more groups"] : [])
    }
}
