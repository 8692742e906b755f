import Core
import Decoding
import System

/// Dead letters with the same maker, outcome, reason and origin.
struct DeadLetterGroup {
    let sample: DeadLetter
    private(set) var count = 0
    private(set) var firstFailedAt: WallTime?
    private(set) var lastFailedAt: WallTime?
    /// How many of them were replayed before.
    private(set) var replayed = 0
    /// The largest number of replays of one letter.
    private(set) var mostReplays = 0

    mutating func add(_ letter: DeadLetter) {
        count += 1
        if let time = letter.failedAt {
            firstFailedAt = min(firstFailedAt ?? time, time)
            lastFailedAt = max(lastFailedAt ?? time, time)
        }
        if letter.replays > 0 { replayed += 1 }
        mostReplays = max(mostReplays, letter.replays)
    }
}

/// The dead letters that match a filter, in groups, as text or JSON.
struct DeadLetterTable {
    /// The maximum number of groups, so that producers of arbitrary headers cannot make the list long.
    static let maximumGroups = 1000

    /// By their common properties.
    private var groups: [[String?]: DeadLetterGroup] = [:]
    /// Dead letters beyond the maximum number of groups.
    private(set) var others = 0
    /// The destination of each group; `nil` omits the column.
    private var target: ((String?) -> String?)?
    private var queue = ""
    private var tally = DeadLetterTally()

    init() {}

    init(
        _ access: DeadLetterAccess, _ options: DeadLetterOptions, target: ((String?) -> String?)? = nil
    ) throws {
        var table = DeadLetterTable()
        let run = try access.read({
            options.select(&$0)
            $0.filter.isForReplay = target != nil
        }) { table.add($1) }
        self = table
        (self.target, queue, tally) = (target, access.queue, run.tally)
    }

    mutating func add(_ letter: DeadLetter) {
        let key = [letter.maker.rawValue, letter.outcome, letter.reason, letter.queue]
        if groups[key] == nil, groups.count >= Self.maximumGroups {
            others += 1
        } else {
            groups[key, default: DeadLetterGroup(sample: letter)].add(letter)
        }
    }

    var total: Int {
        groups.values.reduce(others) { $0 + $1.count }
    }

    /// The largest group first; equal ones by name.
    var sorted: [DeadLetterGroup] {
        func name(_ key: [String?]) -> String { key.map { $0 ?? "" }.joined(separator: "\u{0}") }
        let sorted = groups.sorted { ($1.value.count, name($0.key)) < ($0.value.count, name($1.key)) }
        return sorted.map(\.value)
    }

    /// Shows the table, and asks unless it is a dry run. With `--json` standard output has only the command's own JSON.
    func isConfirmed(_ options: DeadLetterOptions, _ verb: String, isDry: Bool) -> Bool {
        if isDry || !options.json { show(asJSON: options.json) }
        guard !isDry else { return false }
        // Runs block them.
        SignalSource.unblock(LoopRunner.handled)
        complain("\(verb) \(total) of \(tally.atStart) messages? [y/N]")
        if let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) { return true }
        complain("nothing was changed")
        return false
    }

    func show(asJSON: Bool) {
        if asJSON {
            printLine(json: [
                ("queue", .text(queue)), ("messages", .integer(tally.atStart)), ("seen", .integer(tally.seen)),
                ("chosen", .integer(total)), ("groups", .array(sorted.map(object))), ("other", .integer(others)),
            ])
        } else {
            if total > 0 { printLine(lines: lines) }
            printLine("\(total) of \(tally.atStart) messages in \(queue)")
        }
        if tally.accepted > 0 { complain(DeadLetterAccess.acceptedStay(tally.accepted)) }
    }

    private func object(_ group: DeadLetterGroup) -> JSONOutput {
        let letter = group.sample
        let members: [(String, JSONOutput)] = [
            ("maker", .text(letter.maker.rawValue)), ("outcome", .optional(letter.outcome)),
            ("reason", .optional(letter.reason)), ("queue", .optional(letter.queue)), ("count", .integer(group.count)),
            ("first_failed_at", .optional(group.firstFailedAt?.inUTC)),
            ("last_failed_at", .optional(group.lastFailedAt?.inUTC)), ("replayed", .integer(group.replayed)),
            ("most_replays", .integer(group.mostReplays)),
        ]
        return .object(members + (target.map { [("target", .optional($0(letter.queue)))] } ?? []))
    }

    var lines: [String] {
        var titles = ["COUNT", "OUTCOME", "REASON", "QUEUE", "FIRST FAILED AT", "LAST FAILED AT", "REPLAYED"]
        if target != nil { titles.append("TARGET") }
        var table = TextTable(titles)
        for group in sorted {
            let letter = group.sample
            let outcome = letter.outcome ?? (letter.maker == .broker ? "(by the broker)" : "(unknown)")
            var row = [String(group.count), outcome, letter.reason ?? "-", letter.queue ?? "-"]
            row += [group.firstFailedAt?.inUTC ?? "-", group.lastFailedAt?.inUTC ?? "-", String(group.replayed)]
            if let target { row.append(target(letter.queue) ?? "none: --to QUEUE") }
            table.add(row)
        }
        return table.lines + (others > 0 ? ["and \(others) of more groups"] : [])
    }
}
