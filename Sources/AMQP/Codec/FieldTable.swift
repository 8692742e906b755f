import Core

/// A value of a header or an argument: every AMQP 0-9-1 type that RabbitMQ reads.
///
/// Source: rabbitmq.com/amqp-0-9-1-errata, section 3 (field types). librabbitmq adds `uint64` (`L`); RabbitMQ does not
/// support it.
package indirect enum FieldValue: Sendable, Equatable {
    case boolean(Bool)
    case int8(Int8)
    case uint8(UInt8)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case float(Float)
    case double(Double)
    /// `value * 10^-scale`.
    case decimal(scale: UInt8, value: UInt32)
    /// A long string: any bytes, usually UTF-8.
    case text([UInt8])
    case bytes([UInt8])
    /// Seconds since 1970 UTC.
    case timestamp(UInt64)
    case array([FieldValue])
    case table(FieldTable)
    case void

    package static func string(_ text: String) -> FieldValue {
        .text(Array(text.utf8))
    }
}

/// Headers or arguments, in order. A name may occur twice.
package struct FieldTable: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package struct Entry: Sendable, Equatable {
        /// At most 255 bytes.
        package var name: [UInt8]
        package var value: FieldValue

        package init(name: [UInt8], value: FieldValue) {
            self.name = name
            self.value = value
        }
    }

    /// The maximum nesting of tables and arrays, counting the outermost table as 1. Deeper tables are refused.
    package static let maximumDepth = 16

    package var entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The last entry with this name. Setting replaces all of them; `nil` removes them.
    package subscript(name: String) -> FieldValue? {
        get {
            entries.last { $0.name.elementsEqual(name.utf8) }?.value
        }
        set {
            let place = entries.firstIndex { $0.name.elementsEqual(name.utf8) }
            entries.removeAll { $0.name.elementsEqual(name.utf8) }
            guard let newValue else { return }
            entries.insert(Entry(name: Array(name.utf8), value: newValue), at: place ?? entries.count)
        }
    }

    package init(dictionaryLiteral elements: (String, FieldValue)...) {
        entries = elements.map { Entry(name: Array($0.0.utf8), value: $0.1) }
    }
}
