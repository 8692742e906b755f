import Core

/// Writes the frames of one publication in one pass: `basic.publish`, the content header, and the body frames.
///
/// All lengths are checked before the first byte is written: a method frame without its header would end the
/// connection. Source: AMQP 0-9-1, sections 4.2.3 to 4.2.6.
struct PublicationWriter {
    /// Frame header and frame end, in bytes.
    static let frameOverhead = 8
    /// Class, weight and body size of a content header, in bytes.
    static let contentOverhead = 12

    /// Checks the lengths.
    init(_ publication: borrowing Publication, frameMax: Int) throws(AMQPError) {
        try ShortString.check(publication.exchange, "exchange")
        try ShortString.check(publication.routingKey, "routing key")
        try publication.encodedProperties.check()
        let limit = frameMax - Self.frameOverhead - Self.contentOverhead
        let size = publication.encodedProperties.size
        guard size <= limit else {
            throw AMQPError(
                .propertiesTooLarge, "the properties have \(size) bytes; one frame holds \(limit)",
                blame: .local, isTransient: false)
        }
    }

    func write(_ publication: borrowing Publication, channel: UInt16, frameMax: Int, to output: inout ByteQueue) {
        let methodSize = 9 + publication.exchange.count + publication.routingKey.count
        let propertiesSize = publication.encodedProperties.size
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
            writer.append(publication.encodedProperties.bytes)
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
}
