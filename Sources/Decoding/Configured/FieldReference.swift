import Core

/// A reference to one value of a message.
enum FieldReference: Equatable, Sendable {
    case pointer(JSONPointer, text: String)
    case header(String)
    case property(MessageProperty)

    init(_ text: String) throws(InvalidOption) {
        if let name = text.dropPrefix("header:") {
            guard !name.isEmpty else { throw InvalidOption(message: "expected a header's name after header:") }
            self = .header(name)
        } else if let name = text.dropPrefix("property:") {
            guard let property = MessageProperty(rawValue: name) else {
                let names = MessageProperty.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidOption(message: "\"\(name)\" is not one of the properties \(names)")
            }
            self = .property(property)
        } else {
            guard let pointer = JSONPointer(text) else {
                throw InvalidOption(
                    message: "\"\(text)\" is not a JSON pointer: write ~0 for ~ and ~1 for / in a key")
            }
            self = .pointer(pointer, text: text)
        }
    }

    var readsBody: Bool {
        if case .pointer = self { true } else { false }
    }

    /// The reference as written in the configuration.
    var description: String {
        switch self {
        case .pointer(_, let text): text
        case .header(let name): "header:\(name)"
        case .property(let property): "property:\(property.rawValue)"
        }
    }
}

/// The AMQP properties that can be the source of a field.
enum MessageProperty: String, CaseIterable {
    case messageID = "message-id"
    case correlationID = "correlation-id"
    case replyTo = "reply-to"
    case type
    case appID = "app-id"
    case expiration
    case timestamp
    case routingKey = "routing-key"

    func value(of delivery: Delivery) -> RequestFields.Value {
        switch self {
        case .messageID: Self.text(delivery.messageID)
        case .correlationID: Self.text(delivery.correlationID)
        case .replyTo: Self.text(delivery.replyTo)
        case .type: Self.text(delivery.type)
        case .appID: Self.text(delivery.appID)
        case .expiration: Self.text(delivery.expiration)
        case .timestamp: delivery.timestamp.flatMap { Int64(exactly: $0) }.map { .integer($0) } ?? .missing
        case .routingKey: Self.text(delivery.routingKey)
        }
    }

    private static func text(_ text: ArraySlice<UInt8>?) -> RequestFields.Value {
        text.map { .text($0) } ?? .missing
    }
}

/// A message for reading individual values.
struct MappedMessage {
    let delivery: Delivery
    /// The parsed body; `nil` if no source reads it.
    let document: JSONPart?

    func part(at pointer: JSONPointer) -> JSONPart? {
        document.flatMap(pointer.find)
    }

    func value(of reference: FieldReference) -> RequestFields.Value {
        switch reference {
        case .pointer(let pointer, _):
            guard let part = part(at: pointer) else { return .missing }
            return RequestFields.Value(part.value, in: part.document)
        case .header(let name): return delivery.header(named: name.utf8).map { .init($0) } ?? .missing
        case .property(let property): return property.value(of: delivery)
        }
    }

}

extension String {
    /// The text after a prefix; `nil` without the prefix.
    func dropPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
