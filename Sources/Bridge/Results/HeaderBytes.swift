import AMQP
import Core

/// Writes the content of a header table byte by byte, for the few kinds of values that results have.
///
/// Source: AMQP 0-9-1, section 4.2.5.5; rabbitmq.com/amqp-0-9-1-errata, section 3.
enum HeaderBytes {
    static func append(_ name: StaticString, text: some Collection<UInt8>, to table: inout [UInt8]) {
        table.reserveCapacity(table.count + 6 + name.utf8CodeUnitCount + text.count)
        append(name: name, to: &table)
        table.append(UInt8(ascii: "S"))
        append(UInt32(text.count), to: &table)
        table.append(contentsOf: text)
    }

    static func append(_ name: StaticString, integer: Int32, to table: inout [UInt8]) {
        append(name: name, to: &table)
        table.append(UInt8(ascii: "I"))
        append(UInt32(bitPattern: integer), to: &table)
    }

    private static func append(name: StaticString, to table: inout [UInt8]) {
        table.append(UInt8(name.utf8CodeUnitCount))
        table.append(name)
    }

    private static func append(_ value: UInt32, to table: inout [UInt8]) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            table.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
