import CRabbitMQ
import Core

/// Writes the frames of one publication in one pass: `basic.publish`, the content header, and the body frames.
///
/// All lengths are checked before the first byte is written: a method frame without its header would end the
/// connection. Source: AMQP 0-9-1, sections 4.2.3 to 4.2.6.
struct PublicationWriter {
    init(_ publication: borrowing Publication, frameMax: Int) throws(AMQPError) {
        try ShortString.check(publication.exchange, "exchange")
        try ShortString.check(publication.routingKey, "routing key")
        try publication.encodedProperties.check()
        let limit = frameMax - FrameFormat.overhead - FrameFormat.contentHeaderSize
        let size = publication.encodedProperties.size
        guard size <= limit else {
            throw AMQPError(
                .propertiesTooLarge, "the properties have \(size) bytes; one frame holds \(limit)", isTransient: false)
        }
    }

    func write(_ publication: borrowing Publication, channel: UInt16, frameMax: Int, to output: inout ByteQueue) {
        let methodSize = 9 + publication.exchange.count + publication.routingKey.count
        let propertiesSize = publication.encodedProperties.size
        let bodySize = publication.body.count
        let part = frameMax - FrameFormat.overhead
        let frames = 2 + (bodySize + part - 1) / part
        let total =
            frames * FrameFormat.overhead + methodSize + FrameFormat.contentHeaderSize + propertiesSize + bodySize
        unsafe output.append(upTo: total) { buffer in
            var writer = unsafe PackedWriter(buffer)
            writer.beginFrame(.method, channel: channel, size: methodSize)
            writer.append(bigEndian: AMQP_BASIC_PUBLISH_METHOD)
            writer.append(bigEndian: 0 as UInt16)
            writer.append(short: publication.exchange)
            writer.append(short: publication.routingKey)
            writer.append(publication.mandatory ? 1 : 0)
            writer.endFrame()

            writer.beginFrame(.header, channel: channel, size: FrameFormat.contentHeaderSize + propertiesSize)
            writer.append(bigEndian: UInt32(AMQP_BASIC_CLASS) << 16)
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
