/// A position in one of a worker's tables, counted from 0. The table is part of the type, so a pool's position does not
/// compile where an app's is expected.
package struct TableID<Table>: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }

    package static func < (one: Self, other: Self) -> Bool {
        one.index < other.index
    }

    package var description: String { "\(index)" }
}

/// The tables that a ``TableID`` may mean.
package enum WorkerTable {
    package enum Apps {}
    package enum Lanes {}
    package enum Pools {}
    package enum Queues {}
}

/// An app of a worker. Another app may get it once nothing in flight belongs to a removed one.
package typealias AppID = TableID<WorkerTable.Apps>

/// One of the ways that an app's notifications go: a push type, broadcasts, channel management, or all of them.
package typealias LaneID = TableID<WorkerTable.Lanes>

/// A pool of connections to APNs. Another pool may get it once the first has drained.
package typealias PoolID = TableID<WorkerTable.Pools>

/// A queue that a worker consumes, by its place in the configuration.
package typealias QueueID = TableID<WorkerTable.Queues>
