import Core
import Decoding

/// The dead letters that match a filter, in groups, as text or JSON.
struct DeadLetterTable {
    private let run: DeadLetterRun
    private let groups: DeadLetterGroups
    /// The destination of each group; `nil` omits the column.
    private let target: ((DeadLetterGroups.Key) -> String?)?

    /// Reads the queue.
    init(
        _ access: DeadLetterAccess, _ options: DeadLetterOptions, target: ((DeadLetterGroups.Key) -> String?)? = nil
    ) throws {
        var groups = DeadLetterGroups()
        run = try access.read({
            options.select(&$0)
            $0.filter.isForReplay = target != nil
        }) { groups.add($1) }
        self.groups = groups
        self.target = target
    }

    func show(asJSON: Bool) {
        let queue = run.settings.queue
        if asJSON {
            let members: [(String, JSONOutput)] = [
                ("queue", .text(queue)), ("messages", .integer(run.tally.atStart)),
                ("seen", .integer(run.tally.seen)), ("chosen", .integer(groups.total)),
            ]
            printLine(json: members + groups.members(target: target))
        } else {
            if groups.total > 0 { printLine(lines: lines) }
            printLine("\(groups.total) of \(run.tally.atStart) messages in \(queue)")
        }
        if run.tally.accepted > 0 { complain(DeadLetterAccess.acceptedStay(run.tally.accepted)) }
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
