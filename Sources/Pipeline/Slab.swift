/// A table of values under small, reused integer handles.
///
/// Insertion, look-up and removal are O(1) and do not allocate once the table has reached its peak.
struct Slab<Element> {
    /// A handle is valid from `insert` to `remove`.
    typealias Handle = UInt32

    private var slots: [Element?] = []

    /// The handles that the next insertions reuse, last in, first out.
    private var free: [Handle] = []

    /// An empty table.
    init() {}

    /// The number of elements in the table.
    var count: Int {
        slots.count - free.count
    }

    /// Puts an element into the table, under a handle that is free.
    mutating func insert(_ element: consuming Element) -> Handle {
        guard let handle = free.popLast() else {
            slots.append(element)
            return Handle(slots.count - 1)
        }
        slots[Int(handle)] = element
        return handle
    }

    /// Takes an element out; its handle may be given to another one.
    @discardableResult
    mutating func remove(_ handle: Handle) -> Element {
        guard let element = slots[Int(handle)].take() else { preconditionFailure("a handle is removed once") }
        free.append(handle)
        return element
    }

    /// Whether a handle is in use.
    func contains(_ handle: Handle) -> Bool {
        Int(handle) < slots.count && slots[Int(handle)] != nil
    }

    /// The element under a handle that is in use.
    subscript(handle: Handle) -> Element {
        get {
            guard let element = slots[Int(handle)] else { preconditionFailure("a handle is used while it lives") }
            return element
        }
        set {
            precondition(slots[Int(handle)] != nil, "a handle is used while it lives")
            slots[Int(handle)] = newValue
        }
    }

    /// Changes an element in place.
    mutating func update<Result>(_ handle: Handle, _ body: (inout Element) -> Result) -> Result {
        precondition(slots[Int(handle)] != nil, "a handle is used while it lives")
        return body(&slots[Int(handle)]!)
    }

    /// The handles in use, from low to high.
    var handles: [Handle] {
        slots.indices.compactMap { slots[$0] == nil ? nil : Handle($0) }
    }
}
