import Core

/// The open streams of a client session, by stream ID.
///
/// A client's stream IDs are consecutive odd numbers (RFC 9113, section 5.1.1), so that lookup needs no hash. The ring
/// of numbers may span many ended streams while an old one is open; the streams themselves are few, and are kept apart
/// from it.
struct StreamTable {
    private var handles = SequenceTable<Handle>()
    private var streams = Slab<HTTP2ClientSession.Stream>()

    /// Every ID must follow its predecessor, unless the table is empty.
    mutating func insert(_ stream: consuming HTTP2ClientSession.Stream, at id: Int32) {
        handles.insert(streams.insert(stream), at: Self.number(id))
    }

    mutating func remove(_ id: Int32) -> HTTP2ClientSession.Stream? {
        handles.take(Self.number(id)).map { streams.remove($0) }
    }

    func contains(_ id: Int32, where condition: (borrowing HTTP2ClientSession.Stream) -> Bool) -> Bool {
        handles[Self.number(id)].map { condition(streams[$0]) } ?? false
    }

    /// Changes a stream in place; `nil` if it does not exist.
    mutating func update<Result>(_ id: Int32, _ body: (inout HTTP2ClientSession.Stream) -> Result) -> Result? {
        guard let handle = handles[Self.number(id)] else { return nil }
        return streams.update(handle, body)
    }

    /// The IDs of all streams, ascending.
    var ids: [Int32] {
        handles.sequences.map { Int32(truncatingIfNeeded: $0 * 2 + 1) }
    }

    private static func number(_ id: Int32) -> UInt64 {
        // An even ID is never a client's.
        id % 2 == 1 ? UInt64(UInt32(bitPattern: id) / 2) : .max
    }
}
