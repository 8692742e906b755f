/// Selects the connection for the next request. It needs a permit, a free stream and room in its window; of these, the
/// one with the fewest requests in flight is taken. Ties rotate.
///
/// Sources: "Establishing a connection to APNs" (spread over connections, no bursts over few); APNs Provider API,
/// "Best Practices for Managing Connections".
package struct Placement {
    package struct Capacity: Equatable, Sendable {
        package var freeStreams: Int
        package var permits: Int
        /// The remaining flow-control window, in bytes.
        package var window: Int
        package var inFlight: Int

        package init(freeStreams: Int, permits: Int, window: Int, inFlight: Int) {
            self.freeStreams = freeStreams
            self.permits = permits
            self.window = window
            self.inFlight = inFlight
        }

        /// A closed window does not block the only request: that request makes the peer open it.
        var isOpen: Bool {
            freeStreams > 0 && permits > 0 && (window > 0 || inFlight == 0)
        }
    }

    /// Of the connections, in the order of their indexes.
    package var capacities: [Capacity] = []
    private var start = 0

    package init() {}

    /// - Parameter first: only this connection and those after it are considered.
    /// - Returns: The index of the connection for a request of `size` bytes.
    package mutating func place(size: Int, from first: Int = 0) -> Int? {
        var best: Int?
        for offset in capacities.indices {
            let index = (start + offset) % capacities.count
            guard index >= first, capacities[index].isOpen else { continue }
            if let found = best, capacities[found].inFlight <= capacities[index].inFlight { continue }
            best = index
        }
        guard let best else { return nil }
        capacities[best].freeStreams -= 1
        capacities[best].permits -= 1
        capacities[best].window -= size
        capacities[best].inFlight += 1
        start = (best + 1) % capacities.count
        return best
    }
}
