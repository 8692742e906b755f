package import Core

/// The encoded properties of a publication as in its content header: flags, then values.
///
/// They share one block with the message's body. Thousands of results can wait for their confirms at a time, and one
/// allocation per result touches few cache lines. Source: AMQP 0-9-1, section 4.2.6.1.
package struct EncodedProperties: Sendable {
    /// Flags and values, optionally followed by a body.
    fileprivate let block: [UInt8]
    /// In bytes, including the flags.
    let size: Int
    /// The offsets of their length bytes; 0 for an absent property.
    fileprivate let messageIDOffset: UInt32
    fileprivate let correlationIDOffset: UInt32
    /// Whether a property was left out because it, or the name of a header, exceeds 255 bytes, the limit of AMQP's
    /// short strings.
    fileprivate let isOverlong: Bool

    var bytes: ArraySlice<UInt8> { block[..<size] }

    var messageID: ArraySlice<UInt8>? { text(at: messageIDOffset) }
    var correlationID: ArraySlice<UInt8>? { text(at: correlationIDOffset) }

    /// Throws when a property was left out.
    func check() throws(AMQPError) {
        if isOverlong { throw ShortString.tooLong("property, or the name of a header,") }
    }

    private func text(at offset: UInt32) -> ArraySlice<UInt8>? {
        guard offset > 0 else { return nil }
        let start = Int(offset) + 1
        return block[start..<start + Int(block[Int(offset)])]
    }
}

extension EncodedProperties {
    init(_ properties: MessageProperties) {
        var writer = PropertyWriter()
        writer.append(.contentType, properties.contentType?[...])
        writer.append(.contentEncoding, properties.contentEncoding?[...])
        writer.append(properties.headers)
        writer.append(.deliveryMode, properties.deliveryMode)
        writer.append(.priority, properties.priority)
        writer.append(.correlationID, properties.correlationID?[...])
        writer.append(.replyTo, properties.replyTo?[...])
        writer.append(.expiration, properties.expiration?[...])
        writer.append(.messageID, properties.messageID?[...])
        writer.append(.timestamp, properties.timestamp)
        writer.append(.type, properties.type?[...])
        writer.append(.userID, properties.userID?[...])
        writer.append(.appID, properties.appID?[...])
        writer.append(.clusterID, properties.clusterID?[...])
        self = writer.finish().properties
    }
}

/// Writes properties one by one in AMQP's order, optionally followed by the body. The memory is reused for each
/// message.
package struct PropertyWriter: ~Copyable {
    /// The properties, then the body.
    package var content: ByteQueue
    /// The size of the properties, once ``endProperties()`` was called.
    private var size: Int?
    private var flags = PropertyFlags()
    private var isOverlong = false
    private var messageIDOffset: UInt32 = 0
    private var correlationIDOffset: UInt32 = 0

    package init() {
        // Enough for most properties and bodies.
        content = ByteQueue(minimumCapacity: 1024)
        content.append(bigEndian: flags.rawValue)
    }

    private mutating func begin(_ flag: PropertyFlags) {
        precondition(flags.rawValue & (flag.rawValue | (flag.rawValue - 1)) == 0, "properties must be encoded in order")
        flags.formUnion(flag)
    }

    /// Appends a string of at most 255 bytes. A longer one is left out, and publishing fails.
    package mutating func append(_ flag: PropertyFlags, _ text: ArraySlice<UInt8>?) {
        guard let text else { return }
        guard text.count <= ShortString.maximumLength else {
            isOverlong = true
            return
        }
        append(flag, text.count) { $0.append(text) }
    }

    /// Appends a string of `count` bytes that `write` produces.
    package mutating func append(_ flag: PropertyFlags, _ count: Int, _ write: (inout ByteQueue) -> Void) {
        begin(flag)
        if flag == .messageID { messageIDOffset = UInt32(content.count) }
        if flag == .correlationID { correlationIDOffset = UInt32(content.count) }
        content.append(UInt8(count))
        let start = content.count
        write(&content)
        precondition(content.count == start + count, "a string must have the announced length")
    }

    /// Appends a field table's content that `write` produces, see ``FieldTable/encoded()``.
    package mutating func appendHeaders(_ write: (inout ByteQueue) -> Void) {
        begin(.headers)
        let offset = content.count
        content.append(bigEndian: 0 as UInt32)
        write(&content)
        content.overwrite(at: offset, bigEndian: UInt32(content.count - offset - 4))
    }

    /// Appends headers. If the name of one is too long, all are left out, and publishing fails.
    mutating func append(_ headers: FieldTable?) {
        guard let headers else { return }
        do {
            let content = try headers.encoded()
            appendHeaders { $0.append(content) }
        } catch {
            isOverlong = true
        }
    }

    package mutating func appendPersistent() {
        append(.deliveryMode, 2 as UInt8)
    }

    // Inlined, because a call would look up the integer's type at run time.
    @inline(__always)
    package mutating func append(_ flag: PropertyFlags, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        begin(flag)
        content.append(bigEndian: value)
    }

    /// The properties written so far, for ``append(_:)``.
    package var beginning: Beginning {
        Beginning(
            bytes: content.copy()[Self.flagsSize...], flags: flags, isOverlong: isOverlong,
            correlationIDOffset: correlationIDOffset)
    }

    /// Properties that several messages begin with.
    package struct Beginning {
        fileprivate let bytes: ArraySlice<UInt8>
        fileprivate let flags: PropertyFlags
        fileprivate let isOverlong: Bool
        fileprivate let correlationIDOffset: UInt32
    }

    package mutating func append(_ beginning: Beginning) {
        precondition(content.count == Self.flagsSize, "a message has one beginning")
        content.append(beginning.bytes)
        flags = beginning.flags
        isOverlong = beginning.isOverlong
        correlationIDOffset = beginning.correlationIDOffset
    }

    /// In bytes.
    private static let flagsSize = 2

    /// Ends the properties: everything appended to ``content`` afterwards belongs to the body.
    package mutating func endProperties() {
        content.overwrite(at: 0, bigEndian: flags.rawValue)
        size = content.count
    }

    /// Returns properties and body in one block of exactly their size. Later writes belong to the next message.
    package mutating func finish() -> (properties: EncodedProperties, body: ArraySlice<UInt8>) {
        if size == nil { endProperties() }
        let size = size!
        let block = content.copy()
        let properties = EncodedProperties(
            block: block, size: size, messageIDOffset: messageIDOffset, correlationIDOffset: correlationIDOffset,
            isOverlong: isOverlong)
        content.removeAll()
        self.size = nil
        flags = PropertyFlags()
        isOverlong = false
        messageIDOffset = 0
        correlationIDOffset = 0
        content.append(bigEndian: flags.rawValue)
        return (properties, block[size...])
    }
}
