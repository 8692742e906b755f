import Core
import Decoding

/// Dead letters with common properties.
struct DeadLetterGroup {
    struct Key: Hashable {
        let maker: DeadLetter.Maker
        let outcome: String?
        let reason: String?
        /// The queue that they came from.
        let queue: String?

        init(_ letter: DeadLetter) {
            (maker, outcome, reason, queue) = (letter.maker, letter.outcome, letter.reason, letter.queue)
        }
    }

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

    private(set) var groups: [DeadLetterGroup.Key: DeadLetterGroup] = [:]
    /// Dead letters beyond the maximum number of groups.
    private(set) var others = 0
    /// The destination of each group; `nil` omits the column.
    private var target: ((String?) -> String?)?
    private var queue = ""
    private var tally = DeadLetterTally()

    init() {}

    /// Reads the queue.
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
        let key = DeadLetterGroup.Key(letter)
        if groups[key] == nil, groups.count >= Self.maximumGroups {
            others += 1
        } else {
            groups[key, default: DeadLetterGroup()].add(letter)
        }
    }

    var total: Int {
        groups.values.reduce(others) { $0 + $1.count }
    }

    /// The largest group first.
    var sorted: [(key: DeadLetterGroup.Key, group: DeadLetterGroup)] {
        func name(_ key: DeadLetterGroup.Key) -> String {
            [key.maker.rawValue, key.outcome, key.reason, key.queue].map { $0 ?? "" }.joined(separator: "\u{0}")
        }
        return groups.map { (key: $0, group: $1) }.sorted {
            $0.group.count == $1.group.count ? name($0.key) < name($1.key) : $0.group.count > $1.group.count
        }
    }

    /// Shows the table, and asks unless it is a dry run. With `--json` standard output has only the command's own JSON.
    func isConfirmed(_ access: DeadLetterAccess, _ options: DeadLetterOptions, _ verb: String, isDry: Bool) -> Bool {
        if isDry || !options.json { show(asJSON: options.json) }
        return !isDry && access.isConfirmed("\(verb) \(total) of \(tally.atStart) messages?")
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

    private func object(_ key: DeadLetterGroup.Key, _ group: DeadLetterGroup) -> JSONOutput {
        let members: [(String, JSONOutput)] = [
            ("maker", .text(key.maker.rawValue)), ("outcome", .optional(key.outcome)),
            ("reason", .optional(key.reason)), ("queue", .optional(key.queue)), ("count", .integer(group.count)),
            ("first_failed_at", .optional(group.firstFailedAt?.inUTC)),
            ("last_failed_at", .optional(group.lastFailedAt?.inUTC)), ("replayed", .integer(group.replayed)),
            ("most_replays", .integer(group.mostReplays)),
        ]
        return .object(members + (target.map { [("target", .optional($0(key.queue)))] } ?? []))
    }

    private var lines: [String] {
        var titles = ["COUNT", "OUTCOME", "REASON", "QUEUE", "FIRST FAILED AT", "LAST FAILED AT", "REPLAYED"]
        if target != nil { titles.append("TARGET") }
        var table = TextTable(titles)
        for (key, group) in sorted {
            let outcome = key.outcome ?? (key.maker == .broker ? "(by the broker)" : "(unknown)")
            var row = [String(group.count), outcome, key.reason ?? "-", key.queue ?? "-"]
            row += [group.firstFailedAt?.inUTC ?? "-", group.lastFailedAt?.inUTC ?? "-", String(group.replayed)]
            if let target { row.append(target(key.queue) ?? "none: --to QUEUE") }
            table.add(row)
        }
        return table.lines + (others > 0 ? ["and \(others) of more groups"] : [])
    }
}
