import Core

extension FieldTable {
    /// Appends the table's content, without the length that stands before it on the wire.
    ///
    /// Throws when a name is longer than 255 bytes.
    package func encode(into output: inout [UInt8]) throws(AMQPError) {
        for entry in entries {
            guard entry.name.count <= 255 else {
                throw AMQPError(
                    .shortStringTooLong, "a header's name has \(entry.name.count) bytes; AMQP allows 255",
                    blame: .local, isTransient: false)
            }
            output.append(UInt8(entry.name.count))
            output += entry.name
            try entry.value.encode(into: &output)
        }
    }

    /// The table's content, without its length.
    package func encoded() throws(AMQPError) -> [UInt8] {
        var output: [UInt8] = []
        try encode(into: &output)
        return output
    }

    /// Reads a table's content, without its length.
    ///
    /// Throws when it is not well formed, or deeper than ``maximumDepth``.
    package init(decoding content: ArraySlice<UInt8>) throws(AMQPError) {
        var reader = WireReader(content)
        self = try reader.tableContent(depth: 1)
    }
}

extension FieldValue {
    fileprivate func encode(into output: inout [UInt8]) throws(AMQPError) {
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
            var content: [UInt8] = []
            for value in values { try value.encode(into: &content) }
            output.append("A", longString: content)
        case .table(let table): output.append("F", longString: try table.encoded())
        }
    }
}

extension [UInt8] {
    mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
        for shift in stride(from: Integer.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    fileprivate mutating func append<Integer: FixedWidthInteger>(_ kind: Unicode.Scalar, _ value: Integer) {
        append(UInt8(ascii: kind))
        append(bigEndian: value)
    }

    fileprivate mutating func append(_ kind: Unicode.Scalar, longString bytes: [UInt8]) {
        append(kind, UInt32(bytes.count))
        self += bytes
    }
}

/// Reads AMQP's wire format from bytes that are held; every read checks the bounds.
struct WireReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) throws(AMQPError) -> Integer
    {
        var value: Integer = 0
        for byte in try bytes(Integer.bitWidth / 8) { value = value << 8 | Integer(truncatingIfNeeded: byte) }
        return value
    }

    mutating func bytes(_ count: Int) throws(AMQPError) -> ArraySlice<UInt8> {
        guard count <= rest.count else {
            throw AMQPError(.badTable, "properties end in the middle of a value", blame: .remote, isTransient: false)
        }
        let result = rest.prefix(count)
        rest = rest.dropFirst(count)
        return result
    }

    mutating func shortString() throws(AMQPError) -> ArraySlice<UInt8> {
        try bytes(Int(try integer(UInt8.self)))
    }

    mutating func longString() throws(AMQPError) -> ArraySlice<UInt8> {
        try bytes(Int(try integer(UInt32.self)))
    }

    /// Everything that is left, as a table's content.
    mutating func tableContent(depth: Int) throws(AMQPError) -> FieldTable {
        try Self.check(depth)
        var table = FieldTable()
        while !rest.isEmpty {
            let name = Array(try shortString())
            table.entries.append(.init(name: name, value: try value(depth: depth)))
        }
        return table
    }

    private static func check(_ depth: Int) throws(AMQPError) {
        guard depth <= FieldTable.maximumDepth else {
            throw AMQPError(
                .badTable, "headers are nested deeper than \(FieldTable.maximumDepth) levels", blame: .remote,
                isTransient: false)
        }
    }

    private mutating func value(depth: Int) throws(AMQPError) -> FieldValue {
        let kind = try integer(UInt8.self)
        switch Unicode.Scalar(kind) {
        case "t": return .boolean(try integer(UInt8.self) != 0)
        case "b": return .int8(try integer())
        case "B": return .uint8(try integer())
        case "s": return .int16(try integer())
        case "u": return .uint16(try integer())
        case "I": return .int32(try integer())
        case "i": return .uint32(try integer())
        case "l": return .int64(try integer())
        case "L": return .uint64(try integer())
        case "f": return .float(Float(bitPattern: try integer()))
        case "d": return .double(Double(bitPattern: try integer()))
        case "D": return .decimal(scale: try integer(), value: try integer())
        case "S": return .text(Array(try longString()))
        case "x": return .bytes(Array(try longString()))
        case "T": return .timestamp(try integer())
        case "V": return .void
        case "A":
            try Self.check(depth + 1)
            var content = WireReader(try longString())
            var values: [FieldValue] = []
            while !content.rest.isEmpty { values.append(try content.value(depth: depth + 1)) }
            return .array(values)
        case "F":
            var content = WireReader(try longString())
            return .table(try content.tableContent(depth: depth + 1))
        default:
            throw AMQPError(
                .badTable, "a header has the unknown type \(kind)", blame: .remote, isTransient: false)
        }
    }
}
