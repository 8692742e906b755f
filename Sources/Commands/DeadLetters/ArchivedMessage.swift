import AMQP
import Core
import FoundationEssentials

/// An error in a line of an archive.
struct ArchiveFailure: Error, Equatable, CustomStringConvertible {
    let description: String
}

/// A message as one line of JSON that preserves every byte.
///
/// UTF-8 text is a string, other bytes are `{"base64": …}`. Headers include their type, because AMQP has more types
/// than JSON. 64-bit integers are strings of digits and floating-point numbers are hexadecimal bits, so that no program
/// rounds them.
struct ArchivedMessage: Sendable {
    private(set) var properties = MessageProperties()
    let body: [UInt8]
    /// Its dead-letter queue, exchange and routing key. They are written for information and not read.
    private var origin: [(String, Text)] = []

    /// - Throws: if the properties cannot be decoded completely, for example because headers are nested too deeply.
    init(_ delivery: Delivery, from queue: String) throws(AMQPError) {
        properties = try MessageProperties(decoding: delivery.rawProperties)
        body = Array(delivery.body)
        origin = [
            ("queue", Text(queue.utf8)), ("exchange", Text(delivery.exchange)),
            ("routing-key", Text(delivery.routingKey)),
        ]
    }

    init(line: ArraySlice<UInt8>) throws(ArchiveFailure) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(line))
            // Names and texts that are too long for AMQP fail here.
            _ = try properties.encoded()
        } catch let error as DecodingError {
            throw ArchiveFailure(error)
        } catch {
            throw ArchiveFailure(description: "\(error)")
        }
    }

    /// The line without a newline.
    var line: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self))
        }
    }

    /// The message as a broker would deliver it; only its properties contain its headers.
    var delivery: Delivery {
        get throws(AMQPError) {
            var storage: [UInt8] = []
            var layout = Delivery.Layout()
            func place(_ bytes: [UInt8]) -> Delivery.Field {
                storage += bytes
                return Delivery.Field(storage.count - bytes.count..<storage.count)
            }
            layout.rawProperties = place(try properties.encoded())
            layout.body = place(body)
            if let messageID = properties.messageID { layout.messageID = place(messageID) }
            return Delivery(
                epoch: 0, tag: 0, redelivered: false, queue: QueueID(0), storage: storage, layout: layout)
        }
    }
}

extension ArchivedMessage: Codable {
    /// The properties that are short strings, with their AMQP names.
    private static var texts: [(Name, WritableKeyPath<MessageProperties, [UInt8]?>)] {
        [
            ("content-type", \.contentType), ("content-encoding", \.contentEncoding),
            ("correlation-id", \.correlationID), ("reply-to", \.replyTo), ("expiration", \.expiration),
            ("message-id", \.messageID), ("type", \.type), ("user-id", \.userID), ("app-id", \.appID),
            ("cluster-id", \.clusterID),
        ]
    }

    init(from decoder: any Swift.Decoder) throws {
        let members = try decoder.members(["queue", "exchange", "routing-key", "properties", "headers", "body"])
        body = try members.base64("body")
        let fields = try members.superDecoder(forKey: "properties").members(
            Self.texts.map(\.0.stringValue) + ["delivery-mode", "priority", "timestamp"])
        for (name, field) in Self.texts {
            properties[keyPath: field] = try fields.decodeIfPresent(Text.self, forKey: name)?.bytes
        }
        if fields.contains("delivery-mode") { properties.deliveryMode = try fields.integer("delivery-mode") }
        if fields.contains("priority") { properties.priority = try fields.integer("priority") }
        if fields.contains("timestamp") { properties.timestamp = try fields.digits("timestamp") }
        properties.headers = try members.decodeIfPresent([Header].self, forKey: "headers").map(FieldTable.init)
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Name.self)
        for (name, text) in origin { try members.encode(text, forKey: Name(name)) }
        try members.encode(Base64.standard.encode(body), forKey: "body")
        try members.encodeIfPresent(properties.headers.map(Header.all), forKey: "headers")
        var fields = members.nestedContainer(keyedBy: Name.self, forKey: "properties")
        for (name, field) in Self.texts {
            try fields.encodeIfPresent(properties[keyPath: field].map { Text($0) }, forKey: name)
        }
        try fields.encodeIfPresent(properties.deliveryMode, forKey: "delivery-mode")
        try fields.encodeIfPresent(properties.priority, forKey: "priority")
        try fields.encodeIfPresent(properties.timestamp.map { String($0) }, forKey: "timestamp")
    }
}

extension ArchiveFailure {
    fileprivate init(_ error: DecodingError) {
        func place(_ path: [any CodingKey]) -> String {
            let path = path.map { $0.intValue.map { "[\($0)]" } ?? "." + $0.stringValue }.joined().drop { $0 == "." }
            return path.isEmpty ? "the line" : String(path.prefix(100))
        }
        switch error {
        case .keyNotFound(let key, let context):
            description = "\(place(context.codingPath)): expected \"\(key.stringValue)\""
        case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
            description = "\(place(context.codingPath)): \(context.debugDescription)"
        @unknown default: description = "\(error)"
        }
    }
}

/// A header, or an element of an array, which has no name.
private struct Header: Codable {
    let name: Text?
    let value: FieldValue

    static func all(_ table: FieldTable) -> [Header] {
        table.entries.map { Header(name: Text($0.name), value: $0.value) }
    }

    init(name: Text?, value: FieldValue) {
        self.name = name
        self.value = value
    }

    init(from decoder: any Swift.Decoder) throws {
        let members = try decoder.members(["name", "type", "value"])
        // Two steps a level: the index of the header, and its value.
        guard decoder.codingPath.count <= 2 * FieldTable.maximumDepth else {
            throw decoder.failure("expected at most \(FieldTable.maximumDepth) levels")
        }
        name = try members.decodeIfPresent(Text.self, forKey: "name")
        func plain<Value: Decodable>() throws -> Value { try members.decode(Value.self, forKey: "value") }
        switch try members.decode(String.self, forKey: "type") {
        case "boolean": value = .boolean(try plain())
        case "int8": value = .int8(try members.integer("value"))
        case "uint8": value = .uint8(try members.integer("value"))
        case "int16": value = .int16(try members.integer("value"))
        case "uint16": value = .uint16(try members.integer("value"))
        case "int32": value = .int32(try members.integer("value"))
        case "uint32": value = .uint32(try members.integer("value"))
        case "int64": value = .int64(try members.digits("value"))
        case "uint64": value = .uint64(try members.digits("value"))
        case "timestamp": value = .timestamp(try members.digits("value"))
        case "float": value = .float(Float(bitPattern: try members.digits("value", radix: 16)))
        case "double": value = .double(Double(bitPattern: try members.digits("value", radix: 16)))
        case "decimal":
            var parts = try members.nestedUnkeyedContainer(forKey: "value")
            value = .decimal(scale: try parts.decode(UInt8.self), value: try parts.decode(UInt32.self))
        case "text": value = .text((try plain() as Text).bytes)
        case "bytes": value = .bytes((try plain() as Text).bytes)
        case "table": value = .table(FieldTable(try plain() as [Header]))
        case "array": value = .array((try plain() as [Header]).map(\.value))
        case "void": value = .void
        default: throw decoder.failure("expected a type of AMQP")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Name.self)
        try members.encodeIfPresent(name, forKey: "name")
        func put(_ type: String, _ value: some Encodable) throws {
            try members.encode(type, forKey: "type")
            try members.encode(value, forKey: "value")
        }
        switch value {
        case .boolean(let value): try put("boolean", value)
        case .int8(let value): try put("int8", value)
        case .uint8(let value): try put("uint8", value)
        case .int16(let value): try put("int16", value)
        case .uint16(let value): try put("uint16", value)
        case .int32(let value): try put("int32", value)
        case .uint32(let value): try put("uint32", value)
        case .int64(let value): try put("int64", String(value))
        case .uint64(let value): try put("uint64", String(value))
        case .timestamp(let seconds): try put("timestamp", String(seconds))
        case .float(let value): try put("float", String(value.bitPattern, radix: 16))
        case .double(let value): try put("double", String(value.bitPattern, radix: 16))
        case .decimal(let scale, let value): try put("decimal", [UInt32(scale), value])
        case .text(let bytes): try put("text", Text(bytes))
        case .bytes(let bytes): try put("bytes", Text(bytes))
        case .table(let table): try put("table", Header.all(table))
        case .array(let values): try put("array", values.map { Header(name: nil, value: $0) })
        case .void: try members.encode("void", forKey: "type")
        }
    }
}

extension FieldTable {
    fileprivate init(_ headers: [Header]) {
        self.init(headers.map { Entry(name: $0.name?.bytes ?? [], value: $0.value) })
    }
}

private struct Text: Codable {
    let bytes: [UInt8]

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    init(from decoder: any Swift.Decoder) throws {
        do {
            bytes = Array(try decoder.singleValueContainer().decode(String.self).utf8)
        } catch DecodingError.typeMismatch {
            bytes = try decoder.members(["base64"]).base64("base64")
        }
    }

    func encode(to encoder: any Encoder) throws {
        if let text = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        } else {
            var members = encoder.container(keyedBy: Name.self)
            try members.encode(Base64.standard.encode(bytes), forKey: "base64")
        }
    }
}

/// The name of a member, of any object.
private struct Name: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringLiteral name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Swift.Decoder {
    /// An object whose members are all known: the content of others would be lost.
    fileprivate func members(_ known: [String]) throws -> KeyedDecodingContainer<Name> {
        let members = try container(keyedBy: Name.self)
        if let name = members.allKeys.first(where: { !known.contains($0.stringValue) }) {
            throw failure("\"\(name.stringValue.prefix(64))\" is not known")
        }
        return members
    }

    fileprivate func failure(_ text: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }
}

extension KeyedDecodingContainer<Name> {
    fileprivate func failure(_ name: Name, _ text: String) -> DecodingError {
        .dataCorruptedError(forKey: name, in: self, debugDescription: text)
    }

    fileprivate func base64(_ name: Name) throws -> [UInt8] {
        let text = Array(try decode(String.self, forKey: name).utf8)
        guard let bytes = Base64.standard.decode(text.span) else { throw failure(name, "expected base64") }
        return bytes
    }

    fileprivate func integer<Integer: FixedWidthInteger>(_ name: Name) throws -> Integer {
        guard let integer = Integer(exactly: try decode(Int64.self, forKey: name)) else {
            throw failure(name, "expected an integer from \(Integer.min) to \(Integer.max)")
        }
        return integer
    }

    fileprivate func digits<Integer: FixedWidthInteger>(_ name: Name, radix: Int = 10) throws -> Integer {
        guard let integer = Integer(try decode(String.self, forKey: name), radix: radix) else {
            throw failure(name, "expected digits in a string")
        }
        return integer
    }
}
