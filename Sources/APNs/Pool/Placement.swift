/// Selects the connection for the next request. It needs a permit, a free stream and room in its window; of these, the
/// one with the fewest requests in flight is taken. Ties rotate.
///
/// Sources: "Establishing a connection to APNs" (spread over connections, no bursts over few); APNs Provider API,
/// "Best Practices for Managing Connections".
package struct Placement {
    /// The capacity of one connection.
    package struct Lane: Equatable, Sendable {
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

    package private(set) var lanes: [Lane] = []
    private var start = 0

    package init() {}

    /// Removes all lanes before they are added again.
    package mutating func reset() {
        lanes.removeAll(keepingCapacity: true)
    }

    package mutating func add(_ lane: Lane) {
        lanes.append(lane)
    }

    /// - Parameter first: only this lane and those added after it are considered.
    /// - Returns: The index, in the order of addition, of the lane for a request of `size` bytes.
    package mutating func place(size: Int, from first: Int = 0) -> Int? {
        guard !lanes.isEmpty else { return nil }
        var best: Int?
        for offset in lanes.indices {
            let index = (start + offset) % lanes.count
            guard index >= first, lanes[index].isOpen else { continue }
            if let found = best, lanes[found].inFlight <= lanes[index].inFlight { continue }
            best = index
        }
        guard let best else { return nil }
        lanes[best].freeStreams -= 1
        lanes[best].permits -= 1
        lanes[best].window -= size
        lanes[best].inFlight += 1
        start = (best + 1) % lanes.count
        return best
    }
}
