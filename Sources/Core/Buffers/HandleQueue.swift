/// A first-in, first-out queue of small integer handles with removal from any position. It is a linked list in a table
/// indexed by handle.
///
/// Every operation is O(1) and does not allocate once the table has reached its maximum size. An empty queue gives a
/// large table back.
package struct HandleQueue: Sendable {
    private struct Link {
        var previous: UInt32
        var next: UInt32
    }

    private static let end = UInt32.max
    private static let largestEmptyTable = 1024
    private static let absent = Link(previous: .max - 1, next: .max - 1)

    private var links: [Link] = []
    private var head = HandleQueue.end
    private var tail = HandleQueue.end
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool {
        count == 0
    }

    package var first: Handle? {
        head == Self.end ? nil : Handle(head)
    }

    package func contains(_ handle: Handle) -> Bool {
        handle.index < links.count && links[handle.index].next != Self.absent.next
    }

    package mutating func append(_ handle: Handle) {
        precondition(!contains(handle), "a handle must be in the queue once")
        while links.count <= handle.index { links.append(Self.absent) }
        links[handle.index] = Link(previous: tail, next: Self.end)
        if tail == Self.end { head = handle.value } else { links[Int(tail)].next = handle.value }
        tail = handle.value
        count += 1
    }

    package mutating func remove(_ handle: Handle) {
        precondition(contains(handle), "only a handle in the queue can be removed")
        let link = links[handle.index]
        if link.previous == Self.end { head = link.next } else { links[Int(link.previous)].next = link.next }
        if link.next == Self.end { tail = link.previous } else { links[Int(link.next)].previous = link.previous }
        links[handle.index] = Self.absent
        count -= 1
        // Thousands of queues may each have held the highest handle once.
        if count == 0, links.count > Self.largestEmptyTable { links = [] }
    }

    package mutating func popFirst() -> Handle? {
        guard let handle = first else { return nil }
        remove(handle)
        return handle
    }
}
