import Core

/// Writes the frames of one publication in one pass: `basic.publish`, the content header, and the body cut into frames.
///
/// Everything is checked before the first byte is written, because a method frame without its header would end the
/// connection. Source: AMQP 0-9-1, sections 4.2.3 to 4.2.6.
struct PublicationWriter {
    /// Frame header and frame end, in bytes.
    static let frameOverhead = 8
    /// Class, weight and body size of a content header, in bytes.
    static let contentOverhead = 12

    private var flags = PropertyFlags()
    private var propertiesSize = 2

    /// Checks the lengths and adds them up.
    init(_ publication: borrowing Publication, frameMax: Int) throws(AMQPError) {
        try ShortString.check(publication.exchange, "exchange")
        try ShortString.check(publication.routingKey, "routing key")
        try count(publication.properties.contentType, .contentType)
        try count(publication.properties.contentEncoding, .contentEncoding)
        if let headers = publication.properties.headers { count(.headers, 4 + headers.count) }
        if publication.properties.persistent { count(.deliveryMode, 1) }
        if publication.properties.priority != nil { count(.priority, 1) }
        try count(publication.properties.correlationID, .correlationID)
        try count(publication.properties.replyTo, .replyTo)
        try count(publication.properties.expiration, .expiration)
        try count(publication.properties.messageID, .messageID)
        if publication.properties.timestamp != nil { count(.timestamp, 8) }
        try count(publication.properties.type, .type)
        try count(publication.properties.userID, .userID)
        try count(publication.properties.appID, .appID)
        let limit = frameMax - Self.frameOverhead - Self.contentOverhead
        guard propertiesSize <= limit else {
            throw AMQPError(
                .propertiesTooLarge, "the properties have \(propertiesSize) bytes; one frame takes \(limit)",
                blame: .local, isTransient: false)
        }
    }

    @inline(__always)
    private mutating func count(_ text: ArraySlice<UInt8>?, _ flag: PropertyFlags) throws(AMQPError) {
        guard let text else { return }
        try ShortString.check(text, flag.name)
        count(flag, 1 + text.count)
    }

    @inline(__always)
    private mutating func count(_ flag: PropertyFlags, _ size: Int) {
        flags.formUnion(flag)
        propertiesSize += size
    }

    func write(_ publication: borrowing Publication, channel: UInt16, frameMax: Int, to output: inout ByteQueue) {
        let methodSize = 9 + publication.exchange.count + publication.routingKey.count
        let bodySize = publication.body.count
        let part = frameMax - Self.frameOverhead
        let frames = 2 + (bodySize + part - 1) / part
        let total = frames * Self.frameOverhead + methodSize + Self.contentOverhead + propertiesSize + bodySize
        unsafe output.append(upTo: total) { buffer in
            var writer = unsafe PackedWriter(buffer)
            writer.beginFrame(.method, channel: channel, size: methodSize)
            writer.append(bigEndian: 0x003C_0028 as UInt32)
            writer.append(bigEndian: 0 as UInt16)
            writer.append(short: publication.exchange)
            writer.append(short: publication.routingKey)
            writer.append(publication.mandatory ? 1 : 0)
            writer.endFrame()

            writer.beginFrame(.header, channel: channel, size: Self.contentOverhead + propertiesSize)
            writer.append(bigEndian: 0x003C_0000 as UInt32)
            writer.append(bigEndian: UInt64(bodySize))
            append(publication.properties, to: &writer)
            writer.endFrame()

            unsafe publication.body.withUnsafeBufferPointer { body in
                var start = 0
                while start < bodySize {
                    let count = min(part, bodySize - start)
                    writer.beginFrame(.body, channel: channel, size: count)
                    unsafe writer.append(UnsafeBufferPointer(rebasing: body[start..<start + count]))
                    writer.endFrame()
                    start += count
                }
            }
            return writer.count
        }
    }

    @inline(__always)
    private func append(_ properties: borrowing PublicationProperties, to writer: inout PackedWriter) {
        writer.append(bigEndian: flags.rawValue)
        if let text = properties.contentType { writer.append(short: text) }
        if let text = properties.contentEncoding { writer.append(short: text) }
        if let headers = properties.headers {
            writer.append(bigEndian: UInt32(headers.count))
            writer.append(headers)
        }
        if properties.persistent { writer.append(2) }
        if let priority = properties.priority { writer.append(priority) }
        if let text = properties.correlationID { writer.append(short: text) }
        if let text = properties.replyTo { writer.append(short: text) }
        if let text = properties.expiration { writer.append(short: text) }
        if let text = properties.messageID { writer.append(short: text) }
        if let seconds = properties.timestamp { writer.append(bigEndian: seconds) }
        if let text = properties.type { writer.append(short: text) }
        if let text = properties.userID { writer.append(short: text) }
        if let text = properties.appID { writer.append(short: text) }
    }
}
