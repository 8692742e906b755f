import AMQP
import Core
import Decoding

extension JSONOutput {
    /// A header's value for display. Types that JSON does not have are converted to the nearest one.
    init(_ value: FieldValue) {
        switch value {
        case .boolean(let value): self = .boolean(value)
        case .int8(let value): self = .integer(Int(value))
        case .uint8(let value): self = .integer(Int(value))
        case .int16(let value): self = .integer(Int(value))
        case .uint16(let value): self = .integer(Int(value))
        case .int32(let value): self = .integer(Int(value))
        case .uint32(let value): self = .integer(Int(value))
        case .int64(let value): self = .integer(Int(value))
        case .uint64(let value): self = .integer(Int(clamping: value))
        case .float(let value): self = .number(Double(value))
        case .double(let value): self = .number(value)
        case .decimal(let scale, let value): self = .text("\(value)e-\(scale)")
        case .text(let bytes), .bytes(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .timestamp(let seconds): self = .text(WallTime(timestamp: seconds).inUTC)
        case .array(let values): self = .array(values.map { JSONOutput($0) })
        case .table(let table):
            self = .object(table.entries.map { (String(decoding: $0.name, as: UTF8.self), JSONOutput($0.value)) })
        case .void: self = .null
        }
    }
}
