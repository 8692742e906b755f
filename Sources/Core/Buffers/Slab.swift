/// A table of values with small, reused handles; each is valid from insertion to `remove`.
///
/// Insertion, lookup and removal are O(1), do not hash, and do not allocate after the table has reached its peak. The
/// type is usable from inline code, because the compiler otherwise ignores `@inlinable` on its members, and other
/// modules look up its types on each call.
@usableFromInline
package struct Slab<Element> {
    @usableFromInline var slots: [Element?] = []

    /// The handles that the next insertions reuse, last in, first out.
    @usableFromInline var free: [Handle] = []

    @usableFromInline let givesHandles: Bool

    @usableFromInline
    package internal(set) var count = 0

    /// - Parameter givesHandles: `false` if another table gives out the handles: for ``insert(_:at:)`` only.
    package init(givesHandles: Bool = true) {
        self.givesHandles = givesHandles
    }

    @inlinable
    package mutating func insert(_ element: consuming Element) -> Handle {
        precondition(givesHandles, "its handles come from another table")
        let handle = free.popLast() ?? Handle(UInt32(slots.count))
        insert(element, at: handle)
        return handle
    }

    /// Inserts an element under another table's handle.
    @inlinable
    package mutating func insert(_ element: consuming Element, at handle: Handle) {
        while slots.count <= handle.index { slots.append(nil) }
        precondition(slots[handle.index] == nil, "a handle names one element at a time")
        slots[handle.index] = element
        count += 1
    }

    /// Removes an element; its handle may be reused.
    @inlinable
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Element {
        guard let element = slots[handle.index].take() else { preconditionFailure("a handle is removed once") }
        count -= 1
        if givesHandles { free.append(handle) }
        return element
    }

    @inlinable
    package func contains(_ handle: Handle) -> Bool {
        handle.index < slots.count && slots[handle.index] != nil
    }

    /// The element under a handle that is in use.
    @inlinable
    package subscript(handle: Handle) -> Element {
        guard let element = slots[handle.index] else { preconditionFailure("a handle is used while it lives") }
        return element
    }

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
