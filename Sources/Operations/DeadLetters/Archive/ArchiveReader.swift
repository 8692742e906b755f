package import AMQP
import Core
import Pipeline

/// An error in a line of an archive.
package struct ArchiveFailure: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// A message from a line of an archive. Source: ``ArchiveWriter``.
package struct ArchivedMessage: Sendable, Equatable {
    package var properties = MessageProperties()
    package var body: [UInt8] = []

    package init(line: ArraySlice<UInt8>) throws(ArchiveFailure) {
        var members = try ObjectMembers(JSONNode(line), in: "the line")
        body = try members.take("body", Self.base64)
        properties = try members.take("properties", Self.properties)
        properties.headers = try members.takeIfPresent("headers") { node throws(ArchiveFailure) in
            try Self.table(node, depth: 1)
        }
        // The origin is for information only; the message is published again.
        for name in ["queue", "exchange", "routing-key"] { members.drop(name) }
        try members.end()
    }

    /// As a publish to a queue. Properties that would make the broker refuse or reroute it move into `harebell-*`
    /// headers.
    package func publication(to queue: String) -> Publication {
        var properties = properties
        Republishing.makePublishable(&properties)
        return Publication(
            routingKey: ArraySlice(queue.utf8), properties: properties, body: body[...])
    }

    private static func properties(_ node: JSONNode) throws(ArchiveFailure) -> MessageProperties {
        var properties = MessageProperties()
        var members = try ObjectMembers(node, in: "properties")
        for (name, field) in ArchiveField.texts {
            guard let text = try members.takeIfPresent(name.description, bytes) else { continue }
            guard text.count <= 255 else { throw ArchiveFailure(description: "\(name): expected at most 255 bytes") }
            properties[keyPath: field] = text
        }
        properties.deliveryMode = try members.takeIfPresent("delivery-mode", integer)
        properties.priority = try members.takeIfPresent("priority", integer)
        properties.timestamp = try members.takeIfPresent("timestamp") { node throws(ArchiveFailure) in
            try digits(node)
        }
        try members.end()
        return properties
    }

    private static func table(_ node: JSONNode, depth: Int) throws(ArchiveFailure) -> FieldTable {
        guard case .array(let nodes) = node, depth <= FieldTable.maximumDepth else {
            throw ArchiveFailure(
                description: "headers: expected an array, at most \(FieldTable.maximumDepth) levels deep")
        }
        var table = FieldTable()
        for node in nodes {
            var members = try ObjectMembers(node, in: "a header")
            let name = try members.take("name", bytes)
            guard name.count <= 255 else { throw ArchiveFailure(description: "name: expected at most 255 bytes") }
            table.entries.append(FieldTable.Entry(name: name, value: try value(&members, depth: depth)))
        }
        return table
    }

    private static func value(_ members: inout ObjectMembers, depth: Int) throws(ArchiveFailure) -> FieldValue {
        let type = String(decoding: try members.take("type", bytes), as: UTF8.self)
        if type == "void" {
            try members.end()
            return .void
        }
        let value = try members.take("value") { node throws(ArchiveFailure) in try Self.value(node, type, depth) }
        try members.end()
        return value
    }

    private static func value(_ node: JSONNode, _ type: String, _ depth: Int) throws(ArchiveFailure) -> FieldValue {
        switch type {
        case "boolean":
            guard case .boolean(let value) = node else { throw ArchiveFailure(description: "expected true or false") }
            return .boolean(value)
        case "int8": return .int8(try integer(node))
        case "uint8": return .uint8(try integer(node))
        case "int16": return .int16(try integer(node))
        case "uint16": return .uint16(try integer(node))
        case "int32": return .int32(try integer(node))
        case "uint32": return .uint32(try integer(node))
        case "int64": return .int64(try digits(node))
        case "uint64": return .uint64(try digits(node))
        case "timestamp": return .timestamp(try digits(node))
        case "float": return .float(Float(bitPattern: try digits(node, radix: 16)))
        case "double": return .double(Double(bitPattern: try digits(node, radix: 16)))
        case "decimal":
            guard case .array(let parts) = node, parts.count == 2 else {
                throw ArchiveFailure(description: "expected [scale, value]")
            }
            return .decimal(scale: try integer(parts[0]), value: try integer(parts[1]))
        case "text": return .text(try bytes(node))
        case "bytes": return .bytes(try bytes(node))
        case "table": return .table(try table(node, depth: depth + 1))
        case "array":
            guard case .array(let nodes) = node, depth < FieldTable.maximumDepth else {
                throw ArchiveFailure(description: "expected an array, at most \(FieldTable.maximumDepth) levels deep")
            }
            var values: [FieldValue] = []
            for node in nodes {
                var members = try ObjectMembers(node, in: "an element")
                values.append(try value(&members, depth: depth + 1))
            }
            return .array(values)
        default: throw ArchiveFailure(description: "expected a type of AMQP")
        }
    }

    private static func bytes(_ node: JSONNode) throws(ArchiveFailure) -> [UInt8] {
        switch node {
        case .string(let text): return Array(text)
        case .object:
            var members = try ObjectMembers(node, in: "bytes")
            let bytes = try members.take("base64", base64)
            try members.end()
            return bytes
        default: throw ArchiveFailure(description: "expected a string or base64")
        }
    }

    private static func base64(_ node: JSONNode) throws(ArchiveFailure) -> [UInt8] {
        guard case .string(let text) = node, let bytes = Base64.standard.decode(text.span) else {
            throw ArchiveFailure(description: "expected base64")
        }
        return bytes
    }

    private static func integer<Integer: FixedWidthInteger>(_ node: JSONNode) throws(ArchiveFailure) -> Integer {
        guard case .integer(let value) = node, let integer = Integer(exactly: value) else {
            throw ArchiveFailure(description: "expected an integer from \(Integer.min) to \(Integer.max)")
        }
        return integer
    }

    private static func digits<Integer: FixedWidthInteger>(
        _ node: JSONNode, radix: Int = 10
    ) throws(ArchiveFailure) -> Integer {
        guard case .string(let text) = node, let integer = Integer(String(decoding: text, as: UTF8.self), radix: radix)
        else { throw ArchiveFailure(description: "expected digits in a string") }
        return integer
    }
}
