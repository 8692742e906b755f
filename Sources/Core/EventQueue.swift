/// What an engine has to tell its owner, in order.
///
/// Its memory is reused each time the queue has been emptied, which its readers do every turn. Inlinable, because a
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

    /// Adds an event after all others.
    @inlinable
    public mutating func append(_ event: consuming Event) {
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
}

extension EventQueue: Sendable where Event: Sendable {}
