/// A position in one of a worker's tables, counted from 0. The table is part of the type: a pool's position does not
/// compile where an app's is expected.
@usableFromInline
package struct TableID<Table>: Hashable, Comparable, Sendable, CustomStringConvertible {
    @usableFromInline package let index: Int

    @inlinable
    package init(_ index: Int) {
        self.index = index
    }

    @inlinable
    package static func == (one: Self, other: Self) -> Bool {
        one.index == other.index
    }

    @inlinable
    package static func < (one: Self, other: Self) -> Bool {
        one.index < other.index
    }

    @usableFromInline package var description: String { "\(index)" }
}

/// The tables that a ``TableID`` can refer to.
package enum WorkerTable {
    package enum Apps {}
    package enum Lanes {}
    package enum Pools {}
    package enum Queues {}
}

/// An app of a worker. It is reused once a removed app has nothing in flight.
package typealias AppID = TableID<WorkerTable.Apps>

/// A lane of an app's notifications: a push type, broadcasts, channel management, or all of them.
package typealias LaneID = TableID<WorkerTable.Lanes>

/// A pool of connections to APNs. It is reused once a removed pool has drained.
package typealias PoolID = TableID<WorkerTable.Pools>

/// A queue that a worker consumes, by its index in the configuration.
package typealias QueueID = TableID<WorkerTable.Queues>
