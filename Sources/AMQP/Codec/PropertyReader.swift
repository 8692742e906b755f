import Core

/// Locates a message's properties and headers, without copying and without decoding nested tables.
///
/// Source: AMQP 0-9-1, sections 4.2.5.5 (tables) and 4.2.6.1 (property flags); rabbitmq.com/amqp-0-9-1-errata (the
/// types of a table's values).
struct PropertyReader: ~Copyable {
    struct Malformed: Error {}

    private let bytes: [UInt8]
    private var position: Int
    private var end: Int

    /// - Parameter range: the range of the property flags and values.
    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    mutating func flags() throws(Malformed) -> PropertyFlags {
        let flags = PropertyFlags(rawValue: try number())
        var more = flags.rawValue
        // The lowest bit announces another word of flags; `basic` has no properties there.
        while more & 1 != 0 { more = try number() }
        return flags
    }

    mutating func shortString() throws(Malformed) -> Delivery.Field {
        try field(Int(try number() as UInt8))
    }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>() throws(Malformed) -> Number {
        let size = MemoryLayout<Number>.size
        guard size <= end - position else { throw Malformed() }
        defer { position += size }
        let raw = unsafe bytes.span.bytes
        return unsafe Number(bigEndian: raw.unsafeLoadUnaligned(fromByteOffset: position, as: Number.self))
    }

    /// A table's entries; nested values are skipped.
    mutating func headers() throws(Malformed) -> [Delivery.Header] {
        let table = try field(Int(try number() as UInt32)).range
        let outerEnd = end
        (position, end) = (table.lowerBound, table.upperBound)
        var headers: [Delivery.Header] = []
        // One allocation for most requests.
        headers.reserveCapacity(8)
        while position < end { headers.append(Delivery.Header(try shortString(), try value())) }
        end = outerEnd
        return headers
    }

    private mutating func value() throws(Malformed) -> Delivery.Header.Value {
        switch Unicode.Scalar(try number() as UInt8) {
        case "S", "x": return .text(try field(Int(try number() as UInt32)))
        case "t": return .boolean(try number() as UInt8 != 0)
        case "b": return .integer(Int64(try number() as Int8))
        case "B": return .integer(Int64(try number() as UInt8))
        case "s": return .integer(Int64(try number() as Int16))
        case "u": return .integer(Int64(try number() as UInt16))
        case "I": return .integer(Int64(try number() as Int32))
        case "i": return .integer(Int64(try number() as UInt32))
        case "l": return .integer(try number())
        case "L", "T": return .integer(Int64(clamping: try number() as UInt64))
        case "f": return .number(Double(Float(bitPattern: try number())))
        case "d": return .number(Double(bitPattern: try number()))
        // A scale and an integer.
        case "D": _ = try field(5)
        case "A": return .array(try field(Int(try number() as UInt32)))
        case "F": _ = try field(Int(try number() as UInt32))
        case "V": break
        default: throw Malformed()
        }
        return .other
    }

    private mutating func field(_ size: Int) throws(Malformed) -> Delivery.Field {
        guard size <= end - position else { throw Malformed() }
        defer { position += size }
        return Delivery.Field(position..<position + size)
    }
}
