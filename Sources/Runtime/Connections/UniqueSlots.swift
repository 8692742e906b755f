/// A growing array of slots for values that cannot be copied; each has a value or is empty.
///
/// Swift 6.3.1 cannot compile `UniqueArray` of swift-collections 1.6 with the thread sanitizer.
@safe
struct UniqueSlots<Value: ~Copyable>: ~Copyable {
    /// The first ``count`` are initialized.
    private var storage = UnsafeMutableBufferPointer<Value?>.allocate(capacity: 1)
    private(set) var count = 0

    deinit {
        unsafe storage.extracting(..<count).deinitialize()
        unsafe storage.deallocate()
    }

    subscript(index: Int) -> Value? {
        _read {
            precondition(0..<count ~= index, "there is no such slot")
            yield unsafe storage[index]
        }
        _modify {
            precondition(0..<count ~= index, "there is no such slot")
            yield unsafe &storage[index]
        }
    }

    /// Appends an empty slot.
    mutating func append() {
        if unsafe count == storage.count {
            let larger = UnsafeMutableBufferPointer<Value?>.allocate(capacity: 2 * count)
            _ = unsafe larger.moveInitialize(fromContentsOf: storage)
            unsafe storage.deallocate()
            unsafe storage = larger
        }
        unsafe storage.initializeElement(at: count, to: nil)
        count += 1
    }
}
