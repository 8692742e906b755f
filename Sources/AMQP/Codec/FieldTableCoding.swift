import CRabbitMQ
import Core

extension FieldTable {
    /// The table's content, without its length prefix.
    ///
    /// Throws when a name is longer than 255 bytes.
    package func encoded() throws(AMQPError) -> [UInt8] {
        var output = ByteQueue()
        for entry in entries {
            try ShortString.check(entry.name[...], "name of a header")
            output.append(UInt8(entry.name.count))
            output.append(entry.name)
            try entry.value.encode(into: &output)
        }
        return output.copy()
    }

    /// The table's content with its length prefix, as on the wire.
    func wire() throws(AMQPError) -> [UInt8] {
        let content = try encoded()
        var wire = ByteQueue()
        wire.append(bigEndian: UInt32(content.count))
        wire.append(content)
        return wire.copy()
    }

    /// Copies a table that the parser decoded.
    ///
    /// Throws when it is nested deeper than ``maximumDepth``.
    init(_ table: amqp_table_t, depth: Int) throws(AMQPError) {
        try Self.check(depth)
        self.init()
        for index in unsafe 0..<Int(table.num_entries) {
            let entry = unsafe table.entries[index]
            entries.append(
                unsafe Entry(name: Array(entry.key.buffer), value: try FieldValue(entry.value, depth: depth)))
        }
    }

    fileprivate static func check(_ depth: Int) throws(AMQPError) {
        guard depth <= maximumDepth else {
            throw AMQPError(.badTable, "headers are nested deeper than \(maximumDepth) levels", isTransient: false)
        }
    }
}

extension FieldValue {
    fileprivate func encode(into output: inout ByteQueue) throws(AMQPError) {
        switch self {
        case .boolean(let value): output.append("t", value ? 1 as UInt8 : 0)
        case .int8(let value): output.append("b", value)
        case .uint8(let value): output.append("B", value)
        case .int16(let value): output.append("s", value)
        case .uint16(let value): output.append("u", value)
        case .int32(let value): output.append("I", value)
        case .uint32(let value): output.append("i", value)
        case .int64(let value): output.append("l", value)
        case .uint64(let value): output.append("L", value)
        case .float(let value): output.append("f", value.bitPattern)
        case .double(let value): output.append("d", value.bitPattern)
        case .decimal(let scale, let value):
            output.append("D", scale)
            output.append(bigEndian: value)
        case .text(let bytes): output.append("S", longString: bytes)
        case .bytes(let bytes): output.append("x", longString: bytes)
        case .timestamp(let seconds): output.append("T", seconds)
        case .void: output.append(UInt8(ascii: "V"))
        case .array(let values):
            var content = ByteQueue()
            for value in values { try value.encode(into: &content) }
            output.append("A", longString: content.copy())
        case .table(let table): output.append("F", longString: try table.encoded())
        }
    }
}

extension ByteQueue {
    fileprivate mutating func append<Integer: FixedWidthInteger>(_ kind: Unicode.Scalar, _ value: Integer) {
        append(UInt8(ascii: kind))
        append(bigEndian: value)
    }

    fileprivate mutating func append(_ kind: Unicode.Scalar, longString bytes: [UInt8]) {
        append(kind, UInt32(bytes.count))
        append(bytes)
    }
}

extension FieldValue {
    fileprivate init(_ field: amqp_field_value_t, depth: Int) throws(AMQPError) {
        let value = unsafe field.value
        switch unsafe Unicode.Scalar(field.kind) {
        case "t": self = unsafe .boolean(value.boolean != 0)
        case "b": self = unsafe .int8(value.i8)
        case "B": self = unsafe .uint8(value.u8)
        case "s": self = unsafe .int16(value.i16)
        case "u": self = unsafe .uint16(value.u16)
        case "I": self = unsafe .int32(value.i32)
        case "i": self = unsafe .uint32(value.u32)
        case "l": self = unsafe .int64(value.i64)
        case "L": self = unsafe .uint64(value.u64)
        case "f": self = unsafe .float(value.f32)
        case "d": self = unsafe .double(value.f64)
        case "D": self = unsafe .decimal(scale: value.decimal.decimals, value: value.decimal.value)
        case "S": self = unsafe .text(Array(value.bytes.buffer))
        case "x": self = unsafe .bytes(Array(value.bytes.buffer))
        case "T": self = unsafe .timestamp(value.u64)
        case "A":
            try FieldTable.check(depth + 1)
            var values: [FieldValue] = []
            for index in unsafe 0..<Int(value.array.num_entries) {
                values.append(try unsafe FieldValue(value.array.entries[index], depth: depth + 1))
            }
            self = .array(values)
        case "F": self = .table(try unsafe FieldTable(value.table, depth: depth + 1))
        default: self = .void
        }
    }
}
