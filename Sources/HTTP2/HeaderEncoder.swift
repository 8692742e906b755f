import Core

/// Writes the header blocks of one end of a connection, in HPACK, and keeps the dynamic table that its peer reads along.
///
/// It is ours and not nghttp2's, because nghttp2's takes no literals that were encoded before: it would apply its Huffman code to
/// the same provider token for each request, and that alone is a tenth of what a request costs the whole worker. Literals
/// are written as they are here, without that code, but for what a ``HeaderLiteral`` brings along.
///
/// Source: RFC 7541; section 2.3 for the tables, 4 for their size, 6 for what is written.
struct HeaderEncoder {
    /// The most that the dynamic table takes, in bytes, however large the peer lets it be: the default of the RFC.
    static let maximumTable = 4096
    /// The first place of the dynamic table, behind the static one.
    private static let firstDynamicIndex = 62

    private struct Entry {
        let name: HeaderName
        /// Where the value begins in ``values``, and its length.
        var start: Int
        let count: Int

        var size: Int { Self.size(name, valueCount: count) }

        /// In bytes, counted as SETTINGS_MAX_HEADER_LIST_SIZE counts them (RFC 7541, section 4.1).
        static func size(_ name: HeaderName, valueCount: Int) -> Int {
            name.count + valueCount + HeaderBlock.overhead
        }
    }

    /// Oldest first.
    private var entries: [Entry] = []
    /// The entries' values, one behind the other.
    private var values: [UInt8] = []
    private var size = 0
    /// What the peer knows to be the table's limit.
    private var capacity = HeaderEncoder.maximumTable
    /// What the limit is to be from the next block on, and the least that it was to be since the last one.
    private var nextCapacity = HeaderEncoder.maximumTable
    private var leastCapacity = HeaderEncoder.maximumTable

    init() {}

    /// The peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func peerAllows(table bytes: UInt32) {
        nextCapacity = min(Int(bytes), Self.maximumTable)
        leastCapacity = min(leastCapacity, nextCapacity)
    }

    /// Tells the peer first where the table's limit has changed, also that it was lower in between.
    mutating func beginBlock(in output: inout ByteQueue) {
        if leastCapacity < capacity { resize(leastCapacity, &output) }
        if nextCapacity != capacity { resize(nextCapacity, &output) }
        leastCapacity = capacity
    }

    private mutating func resize(_ limit: Int, _ output: inout ByteQueue) {
        capacity = limit
        evict(downTo: limit)
        Self.append(limit, prefix: 5, pattern: 0x20, to: &output)
    }

    mutating func append(
        _ name: HeaderName, _ value: Span<UInt8>, _ indexing: HTTP2ClientSession.Indexing, to output: inout ByteQueue
    ) {
        switch indexing {
        case .never: Self.append(name, at: index(of: name), value, prefix: 4, pattern: 0x10, to: &output)
        case .without: Self.append(name, at: index(of: name), value, prefix: 4, pattern: 0, to: &output)
        case .indexed:
            if let index = index(of: name, value) {
                Self.append(index, prefix: 7, pattern: 0x80, to: &output)
            } else {
                insert(name, value, &output)
            }
        }
    }

    private mutating func insert(_ name: HeaderName, _ value: Span<UInt8>, _ output: inout ByteQueue) {
        let entrySize = Entry.size(name, valueCount: value.count)
        // A larger one would only empty the table (RFC 7541, section 4.4).
        guard entrySize <= capacity else {
            return Self.append(name, at: index(of: name), value, prefix: 4, pattern: 0, to: &output)
        }
        Self.append(name, at: index(of: name), value, prefix: 6, pattern: 0x40, to: &output)
        evict(downTo: capacity - entrySize)
        entries.append(Entry(name: name, start: values.count, count: value.count))
        values.append(value)
        size += entrySize
    }

    private mutating func evict(downTo limit: Int) {
        var count = 0
        var bytes = 0
        while size > limit {
            size -= entries[count].size
            bytes += entries[count].count
            count += 1
        }
        guard count > 0 else { return }
        entries.removeFirst(count)
        values.removeFirst(bytes)
        for place in entries.indices { entries[place].start -= bytes }
    }

    /// Where a name and its value stand.
    private func index(of name: HeaderName, _ value: Span<UInt8>) -> Int? {
        if let index = Self.staticIndex(of: name, value) { return index }
        let place = entries.indices.last { entries[$0].name.isEqual(to: name) && isValue(value, of: entries[$0]) }
        return place.map(dynamicIndex)
    }

    private func isValue(_ value: Span<UInt8>, of entry: Entry) -> Bool {
        let known = values.span.extracting(entry.start..<entry.start + entry.count)
        return known.isEqual(to: value)
    }

    /// Where a name stands; 0 if nowhere.
    private func index(of name: HeaderName) -> Int {
        guard name.staticIndex == 0 else { return name.staticIndex }
        let place = entries.indices.last { entries[$0].name.isEqual(to: name) }
        return place.map(dynamicIndex) ?? 0
    }

    private func dynamicIndex(_ place: Int) -> Int {
        Self.firstDynamicIndex + entries.count - 1 - place
    }

    /// The fields of the static table that a request of ours may have.
    private static func staticIndex(of name: HeaderName, _ value: Span<UInt8>) -> Int? {
        switch name.staticIndex {
        case HeaderName.method.staticIndex: value.equals("GET") ? 2 : value.equals("POST") ? 3 : nil
        case HeaderName.scheme.staticIndex: value.equals("http") ? 6 : value.equals("https") ? 7 : nil
        default: nil
        }
    }

    /// A literal: the name, unless its index tells it, and the value, as they are (RFC 7541, section 5.2).
    private static func append(
        _ name: HeaderName, at index: Int, _ value: Span<UInt8>, prefix: Int, pattern: UInt8,
        to output: inout ByteQueue
    ) {
        append(index, prefix: prefix, pattern: pattern, to: &output)
        if index == 0 {
            append(name.count, prefix: 7, pattern: 0, to: &output)
            output.append(name.text)
        }
        append(value.count, prefix: 7, pattern: 0, to: &output)
        output.append(value)
    }

    /// An integer, in so many bits of the first byte and then in sevens (RFC 7541, section 5.1).
    private static func append(_ value: Int, prefix: Int, pattern: UInt8, to output: inout ByteQueue) {
        let limit = 1 << prefix - 1
        guard value >= limit else { return output.append(pattern | UInt8(value)) }
        output.append(pattern | UInt8(limit))
        var rest = value - limit
        while rest >= 128 {
            output.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }
}
