import Core

/// The header fields of requests that nghttp2 has taken and not written yet, in the order of their streams.
///
/// They are encoded when they are written, because a block refers to what those before it put into HPACK's table, and a request
/// that is cancelled before is not among those.
struct UnsentHeaders: ~Copyable {
    private struct Field {
        /// `nil` for a ``HeaderLiteral``.
        let name: HeaderName?
        let indexing: HTTP2ClientSession.Indexing
        /// Of the value, or the whole literal, in bytes.
        let count: Int32
    }

    /// How many fields they have memory for when they are empty: those of some two hundred requests.
    private static let retainedFields = 2048

    private struct Block {
        let stream: Int32
        let fields: Int
        let bytes: Int
    }

    private var blocks: [Block] = []
    private var fields: [Field] = []
    /// How many of them are behind.
    private var writtenBlocks = 0
    private var writtenFields = 0
    /// Values and literals, one behind the other.
    private var text = ByteQueue()
    /// Of the block that is being built.
    private var openFields = 0
    private var openBytes = 0
    /// The size of that block as SETTINGS_MAX_HEADER_LIST_SIZE counts it, in bytes.
    private(set) var size = 0

    init() {}

    /// Starts a block; one that was begun and did not become a request is forgotten.
    mutating func begin() {
        fields.removeLast(openFields)
        text.removeLast(openBytes)
        openFields = 0
        openBytes = 0
        size = 0
    }

    mutating func add(_ name: HeaderName, _ value: Span<UInt8>, _ indexing: HTTP2ClientSession.Indexing) {
        text.append(value)
        add(Field(name: name, indexing: indexing, count: Int32(value.count)))
        size += name.count + value.count + HeaderBlock.overhead
    }

    mutating func add(_ literal: borrowing HeaderLiteral) {
        text.append(literal.bytes)
        add(Field(name: nil, indexing: .never, count: Int32(literal.bytes.count)))
        size += literal.size
    }

    private mutating func add(_ field: Field) {
        fields.append(field)
        openFields += 1
        openBytes += Int(field.count)
    }

    /// The block that was built belongs to a stream, whose number is higher than those before it.
    mutating func end(stream: Int32) {
        blocks.append(Block(stream: stream, fields: openFields, bytes: openBytes))
        openFields = 0
        openBytes = 0
    }

    /// Writes the block of a stream; what is before it is never written any more.
    mutating func write(stream: Int32, with encoder: inout HeaderEncoder, to output: inout ByteQueue) {
        while true {
            let block = blocks[writtenBlocks]
            if block.stream == stream { encode(block, with: &encoder, to: &output) }
            writtenBlocks += 1
            writtenFields += block.fields
            text.consume(block.bytes)
            if block.stream == stream { return forgetWritten() }
        }
    }

    private func encode(_ block: Block, with encoder: inout HeaderEncoder, to output: inout ByteQueue) {
        encoder.beginBlock(in: &output)
        text.withBytes { text in
            var offset = 0
            for index in writtenFields..<writtenFields + block.fields {
                let field = fields[index]
                let value = text.extracting(offset..<offset + Int(field.count))
                offset += value.count
                if let name = field.name {
                    encoder.append(name, value, field.indexing, to: &output)
                } else {
                    output.append(value)
                }
            }
        }
    }

    /// Half of the arrays at most is what was written; empty, they give back what a burst made of them.
    private mutating func forgetWritten() {
        guard writtenBlocks * 2 >= blocks.count else { return }
        blocks.removeFirst(writtenBlocks)
        fields.removeFirst(writtenFields)
        writtenBlocks = 0
        writtenFields = 0
        guard blocks.isEmpty, fields.isEmpty, fields.capacity > Self.retainedFields else { return }
        blocks = []
        fields = []
    }
}
