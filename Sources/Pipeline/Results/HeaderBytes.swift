import AMQP
import Core

/// Writes the content of a header table directly, for the few value types in results.
///
/// Source: AMQP 0-9-1, section 4.2.5.5; rabbitmq.com/amqp-0-9-1-errata, section 3.
enum HeaderBytes {
    static func append(_ name: StaticString, text: ArraySlice<UInt8>, to table: inout ByteQueue) {
        begin(name, "S", to: &table)
        table.append(bigEndian: UInt32(text.count))
        table.append(text)
    }

    static func append(_ name: StaticString, text: StaticString, to table: inout ByteQueue) {
        begin(name, "S", to: &table)
        table.append(bigEndian: UInt32(text.utf8CodeUnitCount))
        table.append(text)
    }

    static func append(_ name: StaticString, integer: Int32, to table: inout ByteQueue) {
        begin(name, "I", to: &table)
        table.append(bigEndian: integer)
    }

    private static func begin(_ name: StaticString, _ type: Unicode.Scalar, to table: inout ByteQueue) {
        table.append(UInt8(name.utf8CodeUnitCount))
        table.append(name)
        table.append(UInt8(ascii: type))
    }
}
