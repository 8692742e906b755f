/// A table of values with small, reused handles; each is valid from `insert` to `remove`.
///
/// Insertion, lookup and removal are O(1) and do not allocate after the table has reached its peak.
@usableFromInline
package struct Slab<Element> {
    @usableFromInline var table = HandleTable<Element>()

    /// The handles that the next insertions reuse, last in, first out.
    @usableFromInline var free: [Handle] = []

    package init() {}

    package var count: Int { table.count }

    /// Inserts an element with a free handle.
    @inlinable
    package mutating func insert(_ element: consuming Element) -> Handle {
        let handle = free.popLast() ?? Handle(UInt32(table.count))
        table.insert(element, at: handle)
        return handle
    }

    /// Removes an element; its handle may be reused.
    @inlinable
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Element {
        guard let element = table.remove(handle) else { preconditionFailure("a handle is removed once") }
        free.append(handle)
        return element
    }

    /// Whether a handle is in use.
    @inlinable
    package func contains(_ handle: Handle) -> Bool { table[handle] != nil }

    /// The element under a handle that is in use.
    @inlinable
    package subscript(handle: Handle) -> Element {
        guard let element = table[handle] else { preconditionFailure("a handle is used while it lives") }
        return element
    }

    /// Changes an element in place.
    @inlinable
    package mutating func update<Result>(_ handle: Handle, _ body: (inout Element) -> Result) -> Result {
        table.update(handle, body)
    }

    /// The handles in use, from low to high.
    package var handles: [Handle] { table.handles }
}
