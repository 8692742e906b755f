package import Core

/// The queue of waiting requests, in the order of sending.
///
/// Resends come first, then the highest rank, each first in, first out. A lower rank is passed over at most
/// ``maximumPasses`` times in a row. The rank is the AMQP `priority`, of which AMQP 0-9-1 has ten: higher values count
/// as 9.
package struct RequestQueue: Sendable {
    /// How many requests of a higher rank are sent in a row while one of a lower rank waits. If several lower ranks
    /// have waited that long, the lowest is first.
    package static let maximumPasses = 16
    package static let highestRank: UInt8 = 9

    private struct Class {
        let rank: UInt8
        var waiting = HandleQueue()
        /// How many requests have passed its first one since that could have been sent.
        var passed = 0
    }

    private var ahead = HandleQueue()
    /// One per rank in use, highest first.
    private var classes: [Class] = []

    package init() {}

    package var count: Int {
        classes.reduce(ahead.count) { $0 + $1.waiting.count }
    }

    package var isEmpty: Bool {
        ahead.isEmpty && classes.allSatisfy(\.waiting.isEmpty)
    }

    /// The next request. It stays the same until a request is added or removed.
    // Inlined, because a call would copy the whole queue.
    @inline(__always)
    package var first: Handle? {
        ahead.first ?? turn.flatMap { classes[$0].waiting.first }
    }

    @inline(__always)
    private var turn: Int? {
        var turn: Int?
        for index in classes.indices where !classes[index].waiting.isEmpty {
            if turn == nil || classes[index].passed >= Self.maximumPasses { turn = index }
        }
        return turn
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

    /// Adds a resend that precedes all requests that have not been sent yet.
    package mutating func appendAhead(_ handle: Handle) {
        ahead.append(handle)
    }

    /// Removes ``first`` because it is being sent.
    package mutating func popFirst() -> Handle? {
        if let handle = ahead.popFirst() { return handle }
        guard let turn else { return nil }
        classes[turn].passed = 0
        for index in classes.indices.dropFirst(turn + 1) { classes[index].passed += 1 }
        return classes[turn].waiting.popFirst()
    }

    /// Removes a request that is not sent. The order of the others does not change.
    ///
    /// - Returns: `false` if it is not waiting.
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Bool {
        for index in classes.indices where classes[index].waiting.removeIfPresent(handle) { return true }
        return ahead.removeIfPresent(handle)
    }
}

/// All waiting requests of a pool, grouped by what they wait for.
struct WaitingRequests {
    /// For any connection.
    var queue = RequestQueue()
    /// Probes, and requests whose provider token was refused: for a fresh connection.
    var rebinding = HandleQueue()

    @inline(__always)
    var count: Int {
        queue.count + rebinding.count
    }

    mutating func remove(_ handle: Handle) -> Bool {
        queue.remove(handle) || rebinding.removeIfPresent(handle)
    }
}

extension HandleQueue {
    fileprivate mutating func removeIfPresent(_ handle: Handle) -> Bool {
        guard contains(handle) else { return false }
        remove(handle)
        return true
    }
}
