import Core

/// Writes frames into preallocated memory; a write beyond its end traps.
@safe
struct PackedWriter {
    private let base: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private(set) var count = 0

    @unsafe
    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
        unsafe base = buffer.baseAddress!
        capacity = buffer.count
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        precondition(count < capacity, "a frame must be measured before it is written")
        unsafe base[count] = byte
        count += 1
    }

    @inline(__always)
    mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
        let size = MemoryLayout<Integer>.size
        precondition(count + size <= capacity, "a frame must be measured before it is written")
        unsafe UnsafeMutableRawPointer(base + count).storeBytes(of: value.bigEndian, as: Integer.self)
        count += size
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        precondition(count + bytes.count <= capacity, "a frame must be measured before it is written")
        unsafe (base + count).update(from: source, count: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append($0) }
    }

    @inline(__always)
    mutating func append(short text: ArraySlice<UInt8>) {
        append(UInt8(text.count))
        append(text)
    }

    @inline(__always)
    mutating func beginFrame(_ type: FrameFormat.Kind, channel: UInt16, size: Int) {
        append(type.rawValue)
        append(bigEndian: channel)
        append(bigEndian: UInt32(size))
    }

    @inline(__always)
    mutating func endFrame() {
        append(FrameFormat.end)
    }
}
