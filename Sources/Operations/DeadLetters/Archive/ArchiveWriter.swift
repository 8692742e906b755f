package import AMQP
package import Core
import Decoding

/// Writes a message as one line of JSON from which it can be made again, byte by byte.
///
/// A text that is UTF-8 stands as a string, other bytes as `{"base64": …}`. A header says its type, because AMQP has
/// more of them than JSON; 64-bit integers are strings of digits and floating-point numbers their bits in hexadecimal,
/// so that no program in between rounds them.
package enum ArchiveWriter {
    /// - Returns: the line without its end.
    /// - Throws: if the properties cannot be read whole, as where headers are nested too deeply.
    package static func line(_ delivery: Delivery, from queue: String) throws(AMQPError) -> [UInt8] {
        let properties = try MessageProperties(decoding: delivery.rawProperties)
        var line: [UInt8] = []
        line.reserveCapacity(delivery.body.count / 3 * 4 + 2048)
        line.append("{\"queue\":")
        line.appendJSON(string: ArraySlice(queue.utf8))
        line.append(",\"exchange\":")
        append(delivery.exchange, to: &line)
        line.append(",\"routing-key\":")
        append(delivery.routingKey, to: &line)
        line.append(",\"properties\":")
        append(properties, to: &line)
        if let headers = properties.headers {
            line.append(",\"headers\":")
            append(headers, to: &line)
        }
        line.append(",\"body\":\"")
        Base64.standard.append(delivery.body.span, to: &line)
        line.append("\"}")
        return line
    }

    private static func append(_ properties: MessageProperties, to line: inout [UInt8]) {
        var isFirst = true
        func name(_ name: StaticString) {
            line.append(isFirst ? "{\"" : ",\"")
            isFirst = false
            line.append(name)
            line.append("\":")
        }
        for (text, field) in ArchiveField.texts {
            guard let value = properties[keyPath: field] else { continue }
            name(text)
            append(value[...], to: &line)
        }
        if let mode = properties.deliveryMode {
            name("delivery-mode")
            line.append(decimal: Int(mode))
        }
        if let priority = properties.priority {
            name("priority")
            line.append(decimal: Int(priority))
        }
        if let timestamp = properties.timestamp {
            name("timestamp")
            append(digits: timestamp, to: &line)
        }
        if isFirst { line.append("{") }
        line.append("}")
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to line: inout [UInt8]) {
        if String(validating: bytes, as: UTF8.self) != nil {
            line.appendJSON(string: bytes)
        } else {
            line.append("{\"base64\":\"")
            Base64.standard.append(bytes.span, to: &line)
            line.append("\"}")
        }
    }

    private static func append(digits value: some BinaryInteger, to line: inout [UInt8]) {
        line.appendJSON(string: ArraySlice(String(value).utf8))
    }

    private static func append(bits value: some FixedWidthInteger & UnsignedInteger, to line: inout [UInt8]) {
        line.appendJSON(string: ArraySlice(String(value, radix: 16).utf8))
    }

    private static func append(_ table: FieldTable, to line: inout [UInt8]) {
        line.append("[")
        for (index, entry) in table.entries.enumerated() {
            line.append(index == 0 ? "{\"name\":" : ",{\"name\":")
            append(entry.name[...], to: &line)
            line.append(",")
            appendMembers(entry.value, to: &line)
        }
        line.append("]")
    }

    /// `"type":…,"value":…}`
    private static func appendMembers(_ value: FieldValue, to line: inout [UInt8]) {
        line.append("\"type\":\"")
        line.append(value.archiveType)
        line.append("\"")
        if case .void = value {
            line.append("}")
            return
        }
        line.append(",\"value\":")
        switch value {
        case .boolean(let value): line.append(value ? "true" : "false")
        case .int8(let value): line.append(decimal: Int(value))
        case .uint8(let value): line.append(decimal: Int(value))
        case .int16(let value): line.append(decimal: Int(value))
        case .uint16(let value): line.append(decimal: Int(value))
        case .int32(let value): line.append(decimal: Int(value))
        case .uint32(let value): line.append(decimal: Int(value))
        case .int64(let value): append(digits: value, to: &line)
        case .uint64(let value), .timestamp(let value): append(digits: value, to: &line)
        case .float(let value): append(bits: value.bitPattern, to: &line)
        case .double(let value): append(bits: value.bitPattern, to: &line)
        case .decimal(let scale, let value):
            line.append("[")
            line.append(decimal: Int(scale))
            line.append(",")
            line.append(decimal: Int(value))
            line.append("]")
        case .text(let bytes), .bytes(let bytes): append(bytes[...], to: &line)
        case .array(let values):
            line.append("[")
            for (index, value) in values.enumerated() {
                line.append(index == 0 ? "{" : ",{")
                appendMembers(value, to: &line)
            }
            line.append("]")
        case .table(let table): append(table, to: &line)
        case .void: break
        }
        line.append("}")
    }
}

/// What both directions of an archive know of AMQP's fields.
enum ArchiveField {
    /// The properties that are short strings, by AMQP's names.
    static var texts: [(StaticString, WritableKeyPath<MessageProperties, [UInt8]?>)] {
        [
            ("content-type", \.contentType), ("content-encoding", \.contentEncoding),
            ("correlation-id", \.correlationID), ("reply-to", \.replyTo), ("expiration", \.expiration),
            ("message-id", \.messageID), ("type", \.type), ("user-id", \.userID), ("app-id", \.appID),
            ("cluster-id", \.clusterID),
        ]
    }
}

extension FieldValue {
    var archiveType: StaticString {
        switch self {
        case .boolean: "boolean"
        case .int8: "int8"
        case .uint8: "uint8"
        case .int16: "int16"
        case .uint16: "uint16"
        case .int32: "int32"
        case .uint32: "uint32"
        case .int64: "int64"
        case .uint64: "uint64"
        case .float: "float"
        case .double: "double"
        case .decimal: "decimal"
        case .text: "text"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .array: "array"
        case .table: "table"
        case .void: "void"
        }
    }
}
