package import AMQP

extension FieldTable {
    /// Reads a table's content, without its length prefix, as the headers of a message.
    package init(decoding content: ArraySlice<UInt8>) throws(AMQPError) {
        let count = UInt32(content.count)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        let flags: [UInt8] = [0x20, 0]
        self = try MessageProperties(decoding: (flags + length + content)[...]).headers ?? FieldTable()
    }
}
