package import Core

/// The streams of one connection, in the order in which they were opened.
///
/// Every stream that was opened is finished or in flight. All requests of a connection have one timeout, so that the
/// stream that has been open for longest is also the next one to time out.
package struct StreamTable {
    /// An open stream.
    package struct Entry: Sendable {
        /// The owner's name for the request.
        package let handle: UInt32
        /// HTTP/2's number.
        package let stream: Int32
        package let deadline: Instant
        /// Whether a success is worth nothing without its body.
        package let answersInBody: Bool
    }

    private var entries = Slab<Entry>()
    private var order = HandleQueue()
    package private(set) var opened = 0
    package private(set) var finished = 0

    package init() {}

    package var inFlight: Int {
        entries.count
    }

    /// The stream that has been open for longest.
    package var oldest: Entry? {
        order.first.map { entries[$0] }
    }

    /// Enters a stream under a slot, by which HTTP/2 names it in its events.
    ///
    /// - Parameter submit: Is told the slot and gives the stream's number.
    package mutating func open<Failure: Error>(
        _ handle: UInt32, deadline: Instant, answersInBody: Bool = false, submit: (UInt32) throws(Failure) -> Int32
    ) throws(Failure) {
        let slot = entries.insert(Entry(handle: handle, stream: 0, deadline: deadline, answersInBody: answersInBody))
        do {
            entries[slot] = Entry(
                handle: handle, stream: try submit(slot), deadline: deadline, answersInBody: answersInBody)
        } catch {
            entries.remove(slot)
            throw error
        }
        order.append(slot)
        opened += 1
    }

    /// The stream has ended, one way or the other.
    package mutating func finish(_ slot: UInt32) -> Entry {
        order.remove(slot)
        finished += 1
        let entry = entries.remove(slot)
        precondition(opened == finished + inFlight, "every stream that was opened is finished or in flight")
        return entry
    }
}
