package import Core

/// Counts dead letters by their common properties.
package struct DeadLetterGroups: Sendable {
    package struct Key: Hashable, Sendable {
        package let maker: DeadLetter.Maker
        package let outcome: String?
        package let reason: String?
        /// The queue that they came from.
        package let queue: String?

        init(_ letter: DeadLetter) {
            maker = letter.maker
            outcome = letter.outcome
            reason = letter.reason
            queue = letter.queue
        }
    }

    package struct Group: Sendable, Equatable {
        package fileprivate(set) var count = 0
        package fileprivate(set) var firstFailedAt: WallTime?
        package fileprivate(set) var lastFailedAt: WallTime?
        /// How many of them were replayed before.
        package fileprivate(set) var replayed = 0
        /// The largest number of replays of one letter.
        package fileprivate(set) var mostReplays = 0
    }

    /// The maximum number of groups, so that producers of arbitrary headers cannot make the list long.
    package static let maximum = 1000

    private var groups: [Key: Group] = [:]
    /// Dead letters beyond the maximum number of groups.
    package private(set) var others = 0

    package init() {}

    package mutating func add(_ letter: DeadLetter) {
        let key = Key(letter)
        guard groups[key] != nil || groups.count < Self.maximum else {
            others += 1
            return
        }
        var group = groups[key] ?? Group()
        group.count += 1
        if let time = letter.failedAt {
            group.firstFailedAt = min(group.firstFailedAt ?? time, time)
            group.lastFailedAt = max(group.lastFailedAt ?? time, time)
        }
        if letter.replays > 0 { group.replayed += 1 }
        group.mostReplays = max(group.mostReplays, letter.replays)
        groups[key] = group
    }

    package var total: Int {
        groups.values.reduce(others) { $0 + $1.count }
    }

    /// The largest group first.
    package var sorted: [(key: Key, group: Group)] {
        func name(_ key: Key) -> String {
            [key.maker.rawValue, key.outcome, key.reason, key.queue].map { $0 ?? "" }.joined(separator: "\u{0}")
        }
        return groups.map { (key: $0, group: $1) }.sorted {
            $0.group.count == $1.group.count ? name($0.key) < name($1.key) : $0.group.count > $1.group.count
        }
    }
}
