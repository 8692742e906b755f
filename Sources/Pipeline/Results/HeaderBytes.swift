import AMQP
import Core

/// Writes the content of a header table directly, for the few value types in results.
///
/// Source: AMQP 0-9-1, section 4.2.5.5; rabbitmq.com/amqp-0-9-1-errata, section 3.
enum HeaderBytes {
    static func append(_ name: StaticString, text: ArraySlice<UInt8>, to table: inout ByteQueue) {
        append(name: name, to: &table)
        table.append(UInt8(ascii: "S"))
        table.append(bigEndian: UInt32(text.count))
        table.append(text)
    }

    static func append(_ name: StaticString, text: StaticString, to table: inout ByteQueue) {
        append(name: name, to: &table)
        table.append(UInt8(ascii: "S"))
        table.append(bigEndian: UInt32(text.utf8CodeUnitCount))
        table.append(text)
    }

    static func append(_ name: StaticString, integer: Int32, to table: inout ByteQueue) {
        append(name: name, to: &table)
        table.append(UInt8(ascii: "I"))
        table.append(bigEndian: integer)
    }

    private static func append(name: StaticString, to table: inout ByteQueue) {
        table.append(UInt8(name.utf8CodeUnitCount))
        table.append(name)
    }
}
