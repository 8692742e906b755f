package import AMQP
package import Core
import Decoding

/// Writes a message as one line of JSON that preserves every byte.
///
/// UTF-8 text is a string, other bytes are `{"base64": …}`. Headers include their type, because AMQP has more types
/// than JSON. 64-bit integers are strings of digits and floating-point numbers are hexadecimal bits, so that no program
/// rounds them.
package enum ArchiveWriter {
    /// - Returns: the line without a newline.
    /// - Throws: if the properties cannot be decoded completely, for example because headers are nested too deeply.
    package static func line(_ delivery: Delivery, from queue: String) throws(AMQPError) -> [UInt8] {
        let properties = try MessageProperties(decoding: delivery.rawProperties)
        var members: [(String, JSONOutput)] = [
            ("queue", .text(queue)), ("exchange", bytes(delivery.exchange)),
            ("routing-key", bytes(delivery.routingKey)), ("properties", .object(self.members(of: properties))),
        ]
        if let headers = properties.headers { members.append(("headers", table(headers))) }
        members.append(("body", .text(Base64.standard.encode(Array(delivery.body)))))
        return Array(JSONOutput.text(of: members).utf8)
    }

    private static func members(of properties: MessageProperties) -> [(String, JSONOutput)] {
        var members: [(String, JSONOutput)] = ArchiveField.texts.compactMap { name, field in
            properties[keyPath: field].map { (name.description, bytes($0[...])) }
        }
        if let mode = properties.deliveryMode { members.append(("delivery-mode", .integer(Int(mode)))) }
        if let priority = properties.priority { members.append(("priority", .integer(Int(priority)))) }
        if let timestamp = properties.timestamp { members.append(("timestamp", .text(String(timestamp)))) }
        return members
    }

    private static func bytes(_ bytes: ArraySlice<UInt8>) -> JSONOutput {
        if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
        return .object([("base64", .text(Base64.standard.encode(Array(bytes))))])
    }

    private static func table(_ table: FieldTable) -> JSONOutput {
        .array(table.entries.map { .object([("name", bytes($0.name[...]))] + members(of: $0.value)) })
    }

    /// The type and the value of a header.
    private static func members(of value: FieldValue) -> [(String, JSONOutput)] {
        let (type, json): (String, JSONOutput) =
            switch value {
            case .boolean(let value): ("boolean", .boolean(value))
            case .int8(let value): ("int8", .integer(Int(value)))
            case .uint8(let value): ("uint8", .integer(Int(value)))
            case .int16(let value): ("int16", .integer(Int(value)))
            case .uint16(let value): ("uint16", .integer(Int(value)))
            case .int32(let value): ("int32", .integer(Int(value)))
            case .uint32(let value): ("uint32", .integer(Int(value)))
            case .int64(let value): ("int64", .text(String(value)))
            case .uint64(let value): ("uint64", .text(String(value)))
            case .float(let value): ("float", .text(String(value.bitPattern, radix: 16)))
            case .double(let value): ("double", .text(String(value.bitPattern, radix: 16)))
            case .decimal(let scale, let value): ("decimal", .array([.integer(Int(scale)), .integer(Int(value))]))
            case .text(let text): ("text", bytes(text[...]))
            case .bytes(let data): ("bytes", bytes(data[...]))
            case .timestamp(let seconds): ("timestamp", .text(String(seconds)))
            case .array(let values): ("array", .array(values.map { .object(members(of: $0)) }))
            case .table(let fields): ("table", table(fields))
            case .void: ("void", .null)
            }
        if case .void = value { return [("type", .text(type))] }
        return [("type", .text(type)), ("value", json)]
    }
}

/// The AMQP fields that both reading and writing an archive use.
enum ArchiveField {
    /// The properties that are short strings, with their AMQP names.
    static var texts: [(StaticString, WritableKeyPath<MessageProperties, [UInt8]?>)] {
        [
            ("content-type", \.contentType), ("content-encoding", \.contentEncoding),
            ("correlation-id", \.correlationID), ("reply-to", \.replyTo), ("expiration", \.expiration),
            ("message-id", \.messageID), ("type", \.type), ("user-id", \.userID), ("app-id", \.appID),
            ("cluster-id", \.clusterID),
        ]
    }
}
