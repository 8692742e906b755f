import Core
import Decoding
import DequeModule

/// The latest entries, up to a maximum.
struct InboxRing {
    let size: Int
    /// Oldest first; their IDs are consecutive.
    private(set) var entries: Deque<InboxEntry> = []
    private(set) var lastID = 0

    mutating func append(_ entry: InboxEntry) {
        lastID += 1
        if entries.count == size { entries.removeFirst() }
        var entry = entry
        entry.id = lastID
        entries.append(entry)
    }

    /// Later entries continue with the next ID.
    mutating func removeAll() {
        entries.removeAll()
    }

    /// The number of entries that match a query, and the newest of them, newest first.
    func matches(_ query: InboxQuery) -> (count: Int, newest: [InboxEntry]) {
        var count = 0
        var newest: [InboxEntry] = []
        let firstID = lastID - entries.count + 1
        let from = max(0, min(entries.count, (query.after ?? 0) - firstID + 1))
        let to = max(from, min(entries.count, query.before.map { $0 - firstID } ?? entries.count))
        for entry in entries[from..<to].reversed() where query.matches(entry) {
            count += 1
            if newest.count < query.limit { newest.append(entry) }
        }
        return (count, newest)
    }

    /// `{"notifications":[…],"matching":2,"stored":5,"oldest-id":1,"latest-id":5}`
    func json(_ query: InboxQuery) -> [UInt8] {
        let (count, newest) = matches(query)
        let json = JSONOutput.object([
            ("notifications", .array(newest.map(\.json))), ("matching", .integer(count)),
            ("stored", .integer(entries.count)), ("oldest-id", .integer(lastID - entries.count + 1)),
            ("latest-id", .integer(lastID)),
        ])
        return Array(json.description.utf8)
    }
}
