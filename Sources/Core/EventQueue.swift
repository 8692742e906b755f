/// What an engine has to tell its owner, in order; or anything else that waits in a line.
///
/// Its memory is reused each time the queue has been emptied, which an engine's readers do every turn; one that is
/// not emptied keeps no more than as much again as waits in it. Both operations are O(1) amortised. Inlinable, because a
/// generic that other modules cannot specialise looks its types up at run time, on each call;
/// and public, because the compiler specialises an inlinable generic across modules only where it is.
public struct EventQueue<Event> {
    @usableFromInline
    var events: [Event?] = []
    @usableFromInline
    var head = 0

    /// An empty queue.
    @inlinable
    public init() {}

    /// Whether there is nothing to tell.
    @inlinable
    public var isEmpty: Bool {
        head == events.count
    }

    /// How many events wait.
    @inlinable
    public var count: Int {
        events.count - head
    }

    /// The next event, which stays.
    @inlinable
    public var first: Event? {
        head < events.count ? events[head] : nil
    }

    /// Adds an event after all others.
    @inlinable
    public mutating func append(_ event: consuming Event) {
        if events.count == events.capacity, head > events.count / 2 {
            events.removeFirst(head)
            head = 0
        }
        events.append(event)
    }

    /// Removes the first event.
    @inlinable
    public mutating func popFirst() -> Event? {
        guard head < events.count else { return nil }
        let event = events[head].take()
        head += 1
        if head == events.count {
            events.removeAll(keepingCapacity: true)
            head = 0
        }
        return event
    }

    /// Every event, the first one first.
    @inlinable
    public var elements: [Event] {
        events[head...].compactMap(\.self)
    }
}

extension EventQueue: Sendable where Event: Sendable {}
