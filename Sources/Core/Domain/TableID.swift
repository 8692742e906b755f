/// The place of something in a worker's table. Each table has a type of its own, so that the compiler refuses the place
/// of a pool where that of an app is meant.
package protocol TableID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Counted from 0.
    var index: Int { get }

    init(_ index: Int)
}

extension TableID {
    package static func < (one: Self, other: Self) -> Bool {
        one.index < other.index
    }

    package var description: String { "\(index)" }
}

/// An app of a worker. Another app may get it once nothing in flight belongs to a removed one.
package struct AppID: TableID {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }
}

/// One of the ways that an app's notifications go: a push type, broadcasts, channel management, or all of them.
package struct LaneID: TableID {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }
}

/// A pool of connections to APNs. Another pool may get it once the first has drained.
package struct PoolID: TableID {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }
}

/// A queue that a worker consumes, by its place in the configuration.
package struct QueueID: TableID {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }
}
