/// A first-in, first-out queue of bytes in one contiguous buffer. Engines drain into it, and sockets write from it.
///
/// Appending is amortised O(n), consuming is O(1). Where the buffer ends, its bytes move to its front if they fill at
/// most half of it; otherwise it doubles. Once empty it is freed if it is larger than ``retainedCapacity``, so that a
/// burst does not occupy memory permanently.
///
/// What is called several times for each message is inlinable: a generic function of another module would look up
/// its types at run time.
@safe
@usableFromInline
package struct ByteQueue: ~Copyable {
    /// The capacity that an empty queue keeps, in bytes.
    package static let retainedCapacity = 128 * 1024

    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline private(set) var capacity: Int
    @usableFromInline var head = 0
    @usableFromInline var tail = 0

    /// - Parameter minimumCapacity: at least 1.
    package init(minimumCapacity: Int = 4096) {
        capacity = minimumCapacity
        unsafe base = .allocate(capacity: capacity)
    }

    deinit {
        unsafe base.deallocate()
    }

    @inlinable
    package var count: Int {
        tail - head
    }

    @inlinable
    package var isEmpty: Bool {
        head == tail
    }

    /// Passes the bytes in the queue to `body`, oldest first.
    @inlinable
    package func withBytes<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(Span(_unsafeStart: UnsafePointer(base + head), count: tail - head))
    }

    package mutating func consume(_ count: Int) {
        precondition(count >= 0 && count <= tail - head, "cannot remove more bytes than the queue has")
        head += count
        if head == tail { removeAll() }
    }

    /// Removes everything and frees a large buffer.
    package mutating func removeAll() {
        head = 0
        tail = 0
        if capacity > Self.retainedCapacity {
            unsafe base.deallocate()
            capacity = Self.retainedCapacity
            unsafe base = .allocate(capacity: capacity)
        }
    }

    /// Reserves room for `count` more bytes and lets `body` fill it. `body` returns how many bytes it wrote.
    @inlinable
    @discardableResult
    package mutating func append<Failure: Error>(
        upTo count: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        reserve(count)
        let written = try unsafe body(UnsafeMutableBufferPointer(start: base + tail, count: count))
        precondition(written >= 0 && written <= count, "the writer must not exceed its buffer")
        tail += written
        return written
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe base[tail] = byte
        tail += 1
    }

    @inlinable
    package mutating func append(_ bytes: Span<UInt8>) {
        let count = bytes.count
        guard count > 0 else { return }
        reserve(count)
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe (base + tail).update(from: source.baseAddress!, count: count)
        }
        tail += count
    }

    /// Moves all bytes of `other` to the end of this queue. An empty queue swaps buffers instead of copying.
    package mutating func append(moving other: inout ByteQueue) {
        guard !isEmpty else { return swap(&self, &other) }
        other.withBytes { append($0) }
        other.removeAll()
    }

    /// Appends the UTF-8 of a string known at compile time.
    @inlinable
    package mutating func append(_ text: StaticString) {
        unsafe append(Span(_unsafeStart: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(_ bytes: [UInt8]) {
        append(bytes.span)
    }

    package mutating func append(_ bytes: ArraySlice<UInt8>) {
        append(bytes.span)
    }

    @inlinable
    package mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
        let size = MemoryLayout<Integer>.size
        reserve(size)
        unsafe UnsafeMutableRawPointer(base + tail).storeBytes(of: value.bigEndian, as: Integer.self)
        tail += size
    }

    /// Overwrites bytes in the queue, in network byte order; `offset` counts from the oldest byte.
    @inlinable
    package mutating func overwrite<Integer: FixedWidthInteger>(at offset: Int, bigEndian value: Integer) {
        precondition(
            offset >= 0 && offset + MemoryLayout<Integer>.size <= count, "only bytes in the queue can be overwritten")
        unsafe UnsafeMutableRawPointer(base + head + offset).storeBytes(of: value.bigEndian, as: Integer.self)
    }

    package func copy() -> [UInt8] {
        unsafe Array(UnsafeBufferPointer(start: base + head, count: tail - head))
    }

    @inlinable
    mutating func reserve(_ count: Int) {
        if tail + count > capacity { makeRoom(count) }
    }

    @usableFromInline
    mutating func makeRoom(_ count: Int) {
        let used = tail - head
        if used + count <= capacity / 2 {
            unsafe base.update(from: base + head, count: used)
        } else {
            repeat { capacity *= 2 } while capacity < used + count
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
            unsafe larger.update(from: base + head, count: used)
            unsafe base.deallocate()
            unsafe base = larger
        }
        head = 0
        tail = used
    }
}

extension Array where Element == UInt8 {
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    package mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// The UTF-8 of a string known at compile time.
    package mutating func append(_ text: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension Collection where Element == UInt8 {
    /// Whether these bytes are the UTF-8 of `text`.
    ///
    /// Inlinable, because every message compares headers this way. A generic function that other modules cannot
    /// specialise looks up its types at run time on each call.
    @inlinable
    package func equals(_ text: StaticString) -> Bool {
        let isEqual = withContiguousStorageIfAvailable { unsafe Span(_unsafeElements: $0).equals(text) }
        return unsafe isEqual
            ?? elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension Span<UInt8> {
    /// Whether these bytes are the UTF-8 of `text`.
    @inlinable
    package func equals(_ text: StaticString) -> Bool {
        unsafe equals(Span(_unsafeStart: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Compares eight bytes at a time; the last eight may overlap.
    @inlinable
    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        let lastWord = count - 8
        guard lastWord >= 0 else {
            for index in 0..<count where self[index] != other[index] { return false }
            return true
        }
        func differ(at offset: Int) -> Bool {
            unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
                != other.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
        }
        var index = 0
        while index < lastWord {
            if differ(at: index) { return false }
            index += 8
        }
        return !differ(at: lastWord)
    }
}
