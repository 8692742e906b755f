/// Which connection takes the next request: one with a permit, a free stream and room in its window, and of these the
/// one with the fewest requests in flight, so that load spreads. Ties go round.
///
/// Sources: "Establishing a connection to APNs" (spread over connections, no bursts over few); APNs Provider API, "Best
/// Practices for Managing Connections".
package struct Placement {
    /// What one connection can take.
    package struct Lane: Equatable, Sendable {
        package var freeStreams: Int
        package var permits: Int
        /// Bytes that the connection's flow-control window still takes.
        package var window: Int
        package var inFlight: Int

        package init(freeStreams: Int, permits: Int, window: Int, inFlight: Int) {
            self.freeStreams = freeStreams
            self.permits = permits
            self.window = window
            self.inFlight = inFlight
        }

        /// A closed window is no obstacle for the only request: it is what makes the peer open it.
        var isOpen: Bool {
            freeStreams > 0 && permits > 0 && (window > 0 || inFlight == 0)
        }
    }

    package private(set) var lanes: [Lane] = []
    private var start = 0

    package init() {}

    /// Forgets all lanes, before they are counted anew.
    package mutating func reset() {
        lanes.removeAll(keepingCapacity: true)
    }

    package mutating func add(_ lane: Lane) {
        lanes.append(lane)
    }

    /// - Parameter first: only this lane and those that were added after it may take the request.
    /// - Returns: The lane, counted in the order in which they were added, that took a request of `size` bytes.
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
