package import Core

/// The properties of a message that is published, as its content header has them: flags, then values.
///
/// They are written once, into one block that may hold the message's body as well, because thousands of results wait
/// for their confirms at a time: what lies together is allocated once and touches few cache lines.
/// Source: AMQP 0-9-1, section 4.2.6.1.
package struct EncodedProperties: Sendable {
    /// Flags and values, and perhaps a body.
    fileprivate let block: [UInt8]
    /// In bytes, the flags included.
    let size: Int
    /// Where their lengths are; 0 for a property that is absent.
    fileprivate let messageIDOffset: UInt32
    fileprivate let correlationIDOffset: UInt32
    /// The first property that was left out, because AMQP has no strings of more than 255 bytes.
    private let overlong: PropertyFlags?

    var bytes: ArraySlice<UInt8> { block[..<size] }

    var messageID: ArraySlice<UInt8>? { text(at: messageIDOffset) }
    var correlationID: ArraySlice<UInt8>? { text(at: correlationIDOffset) }

    /// Whether all properties are there.
    func check() throws(AMQPError) {
        guard let overlong else { return }
        throw ShortString.tooLong(overlong.name)
    }

    private func text(at offset: UInt32) -> ArraySlice<UInt8>? {
        guard offset > 0 else { return nil }
        let start = Int(offset) + 1
        return block[start..<start + Int(block[Int(offset)])]
    }

    fileprivate init(
        block: [UInt8], size: Int, messageIDOffset: UInt32, correlationIDOffset: UInt32, overlong: PropertyFlags?
    ) {
        self.block = block
        self.size = size
        self.messageIDOffset = messageIDOffset
        self.correlationIDOffset = correlationIDOffset
        self.overlong = overlong
    }

    init(_ properties: borrowing PublicationProperties) {
        var writer = PropertyWriter()
        writer.append(.contentType, properties.contentType)
        writer.append(.contentEncoding, properties.contentEncoding)
        if let headers = properties.headers { writer.appendHeaders { $0.append(headers) } }
        if properties.persistent { writer.appendPersistent() }
        writer.append(.priority, properties.priority)
        writer.append(.correlationID, properties.correlationID)
        writer.append(.replyTo, properties.replyTo)
        writer.append(.expiration, properties.expiration)
        writer.append(.messageID, properties.messageID)
        writer.append(.timestamp, properties.timestamp)
        writer.append(.type, properties.type)
        writer.append(.userID, properties.userID)
        writer.append(.appID, properties.appID)
        self = writer.finish().properties
    }
}

/// Writes properties one by one, in AMQP's order, and then perhaps the body behind them; one message after the other,
/// in the same memory.
package struct PropertyWriter: ~Copyable {
    /// The properties, and behind them the body.
    package var content: ByteQueue
    /// Of the properties, once they have ended.
    private var size: Int?
    private var flags = PropertyFlags()
    private var overlong: PropertyFlags?
    private var messageIDOffset: UInt32 = 0
    private var correlationIDOffset: UInt32 = 0

    /// - Parameter capacity: what properties and body take together, about.
    package init(capacity: Int = 1024) {
        content = ByteQueue(minimumCapacity: capacity)
        content.append(bigEndian: flags.rawValue)
    }

    private mutating func begin(_ flag: PropertyFlags) {
        precondition(flags.rawValue & (flag.rawValue | (flag.rawValue - 1)) == 0, "properties come in their order")
        flags.formUnion(flag)
    }

    /// A string of at most 255 bytes; a longer one is left out, and publishing fails.
    package mutating func append(_ flag: PropertyFlags, _ text: ArraySlice<UInt8>?) {
        guard let text else { return }
        guard text.count <= ShortString.maximumLength else {
            overlong = overlong ?? flag
            return
        }
        append(flag, text.count) { $0.append(text) }
    }

    /// The same for a string of so many bytes that `write` appends.
    package mutating func append(_ flag: PropertyFlags, _ count: Int, _ write: (inout ByteQueue) -> Void) {
        begin(flag)
        if flag == .messageID { messageIDOffset = UInt32(content.count) }
        if flag == .correlationID { correlationIDOffset = UInt32(content.count) }
        content.append(UInt8(count))
        let start = content.count
        write(&content)
        precondition(content.count == start + count, "a string has the length that was said")
    }

    /// The content of a field table that `write` appends, see ``FieldTable/encoded()``.
    package mutating func appendHeaders(_ write: (inout ByteQueue) -> Void) {
        begin(.headers)
        let offset = content.count
        content.append(bigEndian: 0 as UInt32)
        write(&content)
        content.overwrite(at: offset, bigEndian: UInt32(content.count - offset - 4))
    }

    package mutating func appendPersistent() {
        append(.deliveryMode, 2 as UInt8)
    }

    // In line, because the call would look the integer's type up at run time.
    @inline(__always)
    package mutating func append(_ flag: PropertyFlags, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        begin(flag)
        content.append(bigEndian: value)
    }

    /// What is written into ``content`` from now on is the body.
    package mutating func endProperties() {
        content.overwrite(at: 0, bigEndian: flags.rawValue)
        size = content.count
    }

    /// Properties and body, in one block of their size. What is written from now on belongs to the next message.
    package mutating func finish() -> (properties: EncodedProperties, body: ArraySlice<UInt8>) {
        if size == nil { endProperties() }
        let size = size!
        let block = content.copy()
        let properties = EncodedProperties(
            block: block, size: size, messageIDOffset: messageIDOffset, correlationIDOffset: correlationIDOffset,
            overlong: overlong)
        reset()
        return (properties, block[size...])
    }

    private mutating func reset() {
        content.removeAll()
        size = nil
        flags = PropertyFlags()
        overlong = nil
        messageIDOffset = 0
        correlationIDOffset = 0
        content.append(bigEndian: flags.rawValue)
    }
}

extension PublicationProperties {
    /// Reads back what was written.
    package init(_ encoded: EncodedProperties) {
        do {
            let properties = try MessageProperties(decoding: encoded.bytes)
            self = try PublicationProperties(properties)
            persistent = properties.deliveryMode != nil
        } catch {
            preconditionFailure("what was written is well formed: \(error)")
        }
    }
}
