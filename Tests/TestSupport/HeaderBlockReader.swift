import Core
package import HTTP2

/// The encoding of a field on the wire. Source: RFC 7541, section 6.
package enum HeaderRepresentation {
    /// A reference to the static or dynamic table.
    case indexed
    /// A literal that was added to the dynamic table.
    case incrementalIndexing
    /// A literal that was not.
    case withoutIndexing
    /// A literal that intermediaries must not index either.
    case neverIndexed
}

/// Determines from a client's bytes how each header field was encoded. nghttp2 does not report this: its flags only
/// identify "never indexed".
///
/// It only classifies. It decodes no text, and leaves malformed input to nghttp2.
///
/// Source: RFC 9113, sections 3.4, 4.1, 6.2 and 6.10; RFC 7541, sections 5.1, 5.2 and 6.
package struct HeaderBlockReader {
    private static let prefaceLength = 24
    private static let frameHeaderLength = 9

    /// The bytes of an incomplete preface or frame.
    private var input: [UInt8] = []
    private var hasPreface = false
    /// The current block: HEADERS without padding and priority fields, and CONTINUATIONs.
    private var fragments: [UInt8] = []
    /// The encodings of each stream's first block.
    private var blocks: [Int32: [HeaderRepresentation]] = [:]

    package init() {}

    /// Takes every byte that the client sends.
    package mutating func receive(_ bytes: Span<UInt8>) {
        input.append(bytes)
        if !hasPreface {
            guard input.count >= Self.prefaceLength else { return }
            input.removeFirst(Self.prefaceLength)
            hasPreface = true
        }
        while input.count >= Self.frameHeaderLength {
            let end = Self.frameHeaderLength + input[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard input.count >= end else { return }
            let stream = input[5..<9].reduce(0) { $0 << 8 | Int32($1) } & .max
            frameReceived(type: input[3], flags: input[4], on: stream, input[Self.frameHeaderLength..<end])
            input.removeFirst(end)
        }
    }

    /// The encoding of each field of a request, by name.
    package func representations(of request: HTTP2Request, on stream: Int32) -> [String: HeaderRepresentation] {
        Dictionary(uniqueKeysWithValues: zip(request.headers.map(\.nameText), blocks[stream] ?? []))
    }

    private mutating func frameReceived(type: UInt8, flags: UInt8, on stream: Int32, _ payload: ArraySlice<UInt8>) {
        guard type == 0x1 || type == 0x9 else { return }
        var part = payload
        if type == 0x1 {
            fragments = []
            if flags & 0x8 != 0, let padding = part.popFirst() { part = part.dropLast(Int(padding)) }
            if flags & 0x20 != 0 { part = part.dropFirst(5) }
        }
        fragments += part
        guard flags & 0x4 != 0, blocks[stream] == nil else { return }
        blocks[stream] = Self.representations(in: fragments.span)
    }

    /// The encoding of each field of a header block, from the first bits of its representation.
    private static func representations(in block: Span<UInt8>) -> [HeaderRepresentation] {
        var result: [HeaderRepresentation] = []
        var position = 0
        while position < block.count {
            let first = block[position]
            if first & 0x80 != 0 {
                _ = integer(in: block, at: &position, bits: 7)
                result.append(.indexed)
            } else if first & 0xe0 == 0x20 {
                _ = integer(in: block, at: &position, bits: 5)
            } else {
                let isIncremental = first & 0x40 != 0
                let index = integer(in: block, at: &position, bits: isIncremental ? 6 : 4)
                if index == 0 { skipString(in: block, at: &position) }
                skipString(in: block, at: &position)
                result.append(
                    isIncremental ? .incrementalIndexing : first & 0x10 != 0 ? .neverIndexed : .withoutIndexing)
            }
        }
        return result
    }

    private static func skipString(in block: Span<UInt8>, at position: inout Int) {
        let length = integer(in: block, at: &position, bits: 7)
        position = min(block.count, position + length)
    }

    /// An integer with a prefix of `bits` bits; limited to 2^28, which no block reaches.
    private static func integer(in block: Span<UInt8>, at position: inout Int, bits: Int) -> Int {
        guard position < block.count else { return 0 }
        let mask = 1 << bits - 1
        var value = Int(block[position]) & mask
        position += 1
        guard value == mask else { return value }
        var shift = 0
        while position < block.count, shift <= 21 {
            let byte = Int(block[position])
            position += 1
            value += (byte & 0x7f) << shift
            if byte & 0x80 == 0 { break }
            shift += 7
        }
        return value
    }
}
