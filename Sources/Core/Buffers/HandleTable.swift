/// Values by handle, in an array indexed by it. ``Slab`` is for an owner that also gives out the handles.
///
/// Insertion, lookup and removal are O(1), do not hash, and do not allocate after the table has reached its peak. The
/// type is usable from inline code, because the compiler otherwise ignores `@inlinable` on its members, and other
/// modules look up its types on each call.
@usableFromInline
package struct HandleTable<Element> {
    @usableFromInline var slots: [Element?] = []

    /// The number of values.
    @usableFromInline
    package internal(set) var count = 0

    package init() {}

    /// Inserts a value under a handle that has none.
    @inlinable
    package mutating func insert(_ element: consuming Element, at handle: Handle) {
        while slots.count <= handle.index { slots.append(nil) }
        precondition(slots[handle.index] == nil, "a handle names one value at a time")
        slots[handle.index] = element
        count += 1
    }

    /// Removes the value of a handle; `nil` if it has none.
    @inlinable
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Element? {
        guard handle.index < slots.count, let element = slots[handle.index].take() else { return nil }
        count -= 1
        return element
    }

    /// The value of a handle; `nil` if it has none.
    @inlinable
    package subscript(handle: Handle) -> Element? {
        handle.index < slots.count ? slots[handle.index] : nil
    }

    /// Changes a value in place.
    @inlinable
    package mutating func update<Result>(_ handle: Handle, _ body: (inout Element) -> Result) -> Result {
        precondition(slots[handle.index] != nil, "a handle is used while it lives")
        return body(&slots[handle.index]!)
    }

    /// The handles that have a value, from low to high.
    package var handles: [Handle] {
        slots.indices.compactMap { slots[$0] == nil ? nil : Handle(UInt32($0)) }
    }
}
