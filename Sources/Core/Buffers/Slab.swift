/// A table of values with small, reused handles; each is valid from `insert` to `remove`.
///
/// Insertion, lookup and removal are O(1) and do not allocate after the table has reached its peak.
@usableFromInline
package struct Slab<Element> {
    @usableFromInline var slots: [Element?] = []

    /// The handles that the next insertions reuse, last in, first out.
    @usableFromInline var free: [Handle] = []

    package init() {}

    package var count: Int {
        slots.count - free.count
    }

    /// Inserts an element with a free handle.
    @inlinable
    package mutating func insert(_ element: consuming Element) -> Handle {
        guard let handle = free.popLast() else {
            slots.append(element)
            return Handle(UInt32(slots.count - 1))
        }
        slots[handle.index] = element
        return handle
    }

    /// Removes an element; its handle may be reused.
    @inlinable
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Element {
        guard let element = slots[handle.index].take() else { preconditionFailure("a handle is removed once") }
        free.append(handle)
        return element
    }

    /// Whether a handle is in use.
    @inlinable
    package func contains(_ handle: Handle) -> Bool {
        handle.index < slots.count && slots[handle.index] != nil
    }

    /// The element under a handle that is in use.
    @inlinable
    package subscript(handle: Handle) -> Element {
        get {
            guard let element = slots[handle.index] else { preconditionFailure("a handle is used while it lives") }
            return element
        }
        set {
            precondition(slots[handle.index] != nil, "a handle is used while it lives")
            slots[handle.index] = newValue
        }
    }

    /// Changes an element in place.
    @inlinable
    package mutating func update<Result>(_ handle: Handle, _ body: (inout Element) -> Result) -> Result {
        precondition(slots[handle.index] != nil, "a handle is used while it lives")
        return body(&slots[handle.index]!)
    }

    /// The handles in use, from low to high.
    package var handles: [Handle] {
        slots.indices.compactMap { slots[$0] == nil ? nil : Handle(UInt32($0)) }
    }
}
