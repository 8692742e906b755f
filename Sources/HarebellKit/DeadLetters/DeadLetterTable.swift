import Operations
import Core
import Decoding

/// Groups of dead letters, for a person or a program.
struct DeadLetterTable {
    let groups: DeadLetterGroups
    /// Where each group would go; `nil` leaves that out.
    var target: ((DeadLetterGroups.Key) -> String?)?

    func answer(_ more: [(String, JSONAnswer)]) -> String {
        JSONAnswer.text(of: more + groups.members(target: target))
    }

    /// Columns with their titles. What stands in them is escaped first: a producer may have chosen it.
    var lines: [String] {
        var rows = [["COUNT", "OUTCOME", "REASON", "QUEUE", "FIRST FAILED AT", "LAST FAILED AT", "REPLAYED"]]
        if target != nil { rows[0].append("TARGET") }
        for (key, group) in groups.sorted {
            let outcome = key.outcome ?? (key.maker == .broker ? "(by the broker)" : "(unknown)")
            var row = [String(group.count), outcome, key.reason ?? "-", key.queue ?? "-"]
            row += [group.firstFailedAt?.inUTC ?? "-", group.lastFailedAt?.inUTC ?? "-", String(group.replayed)]
            if let target { row.append(target(key) ?? "none: --to QUEUE") }
            rows.append(row)
        }
        rows = rows.map { row in row.map { ControlCharacters.escaped($0) } }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
                .replacing(#/ +$/#, with: "")
        }
        return lines + (groups.others > 0 ? ["and \(groups.others) of more groups"] : [])
    }
}
