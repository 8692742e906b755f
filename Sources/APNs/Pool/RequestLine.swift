package import Core

/// The requests that wait for their turn, in the order in which they go out.
///
/// First what is sent again, then the highest rank, each first in, first out; but a lower rank is passed over only
/// ``patience`` times in a row. The rank is the AMQP `priority`, of which AMQP 0-9-1 has ten: more counts as 9.
package struct RequestLine: Sendable {
    /// How many requests of a higher rank go first, in a row, while one of a lower rank waits. Of several lower ranks
    /// that have waited for so long, the lowest goes first.
    package static let patience = 16
    package static let highestRank: UInt8 = 9

    private struct Class {
        let rank: UInt8
        var waiting = HandleQueue()
        /// How many requests went past the first since it could have gone.
        var passed = 0
    }

    private var ahead = HandleQueue()
    /// One for each rank that has come, the highest first.
    private var classes: [Class] = []

    package init() {}

    package var count: Int {
        classes.reduce(ahead.count) { $0 + $1.waiting.count }
    }

    package var isEmpty: Bool {
        ahead.isEmpty && classes.allSatisfy(\.waiting.isEmpty)
    }

    /// The request that goes next; without a request in between, it stays the same.
    // In line, because for the call the whole line would be copied.
    @inline(__always)
    package var first: Handle? {
        ahead.first ?? turn.flatMap { classes[$0].waiting.first }
    }

    /// Which class has its turn.
    @inline(__always)
    private var turn: Int? {
        var turn: Int?
        for index in classes.indices where !classes[index].waiting.isEmpty {
            if turn == nil || classes[index].passed >= Self.patience { turn = index }
        }
        return turn
    }

    package func contains(_ handle: Handle) -> Bool {
        ahead.contains(handle) || classes.contains { $0.waiting.contains(handle) }
    }

    package mutating func append(_ handle: Handle, rank: UInt8) {
        let index = place(of: min(rank, Self.highestRank))
        if classes[index].waiting.isEmpty { classes[index].passed = 0 }
        classes[index].waiting.append(handle)
    }

    private mutating func place(of rank: UInt8) -> Int {
        let index = classes.firstIndex { $0.rank <= rank } ?? classes.count
        if index == classes.count || classes[index].rank != rank { classes.insert(Class(rank: rank), at: index) }
        return index
    }

    /// Adds a request that had its turn already: it goes before all that had none.
    package mutating func appendAhead(_ handle: Handle) {
        ahead.append(handle)
    }

    /// Takes ``first`` out because it is sent.
    package mutating func popFirst() -> Handle? {
        if let handle = ahead.popFirst() { return handle }
        guard let turn else { return nil }
        classes[turn].passed = 0
        for index in classes.indices.dropFirst(turn + 1) { classes[index].passed += 1 }
        return classes[turn].waiting.popFirst()
    }

    /// Takes a request out that is not sent; nobody's turn comes sooner or later for it.
    package mutating func remove(_ handle: Handle) {
        guard let index = classes.firstIndex(where: { $0.waiting.contains(handle) }) else {
            return ahead.remove(handle)
        }
        classes[index].waiting.remove(handle)
    }
}

/// All requests of a pool that wait, by what each of them waits for.
struct WaitingRequests {
    /// For any connection.
    var line = RequestLine()
    /// Probes, and requests whose provider token was refused: for a fresh connection.
    var rebinding = HandleQueue()
    /// For a device that APNs was asked for too often.
    var spacing: DeviceSpacing

    init(spacing: DeviceSpacing) {
        self.spacing = spacing
    }

    @inline(__always)
    var count: Int {
        line.count + rebinding.count + spacing.waitingCount
    }

    /// Adds a request that had its turn already: it goes before all that had none.
    mutating func append(sentBefore handle: Handle, toFreshConnection: Bool) {
        if toFreshConnection { rebinding.append(handle) } else { line.appendAhead(handle) }
    }

    /// Takes a request out that is not sent.
    ///
    /// - Returns: `false` if it does not wait.
    mutating func remove(_ handle: Handle, for target: Notification.Target) -> Bool {
        if line.contains(handle) {
            line.remove(handle)
        } else if rebinding.contains(handle) {
            rebinding.remove(handle)
        } else if case .device(let token) = target {
            return spacing.remove(handle, for: token)
        } else {
            return false
        }
        return true
    }

    /// Leaves no device alone any longer: what waited for one goes before all that had no turn yet.
    mutating func stopSpacing() {
        for handle in spacing.removeAll() { line.appendAhead(handle) }
    }
}
