import Core

/// Where in a message a value is.
enum FieldReference: Equatable, Sendable {
    case pointer(JSONPointer)
    case header(String)
    case property(MessageProperty)

    init(_ text: String) throws(Complaint) {
        if let name = text.dropPrefix("header:") {
            guard !name.isEmpty else { throw Complaint("expected a header's name after header:") }
            self = .header(name)
        } else if let name = text.dropPrefix("property:") {
            guard let property = MessageProperty(rawValue: name) else {
                let names = MessageProperty.allCases.map(\.rawValue).joined(separator: ", ")
                throw Complaint("\"\(name)\" is not one of the properties \(names)")
            }
            self = .property(property)
        } else {
            guard let pointer = JSONPointer(text) else {
                throw Complaint("\"\(text)\" is not a JSON pointer: write ~0 for ~ and ~1 for / in a key")
            }
            self = .pointer(pointer)
        }
    }
}

/// The AMQP properties that a mapping can read, and that a decoder program gets.
enum MessageProperty: String, CaseIterable {
    case contentType = "content-type"
    case contentEncoding = "content-encoding"
    case messageID = "message-id"
    case correlationID = "correlation-id"
    case replyTo = "reply-to"
    case type
    case appID = "app-id"
    case expiration
    case exchange
    case routingKey = "routing-key"
    case timestamp

    func text(of delivery: Delivery) -> ArraySlice<UInt8>? {
        switch self {
        case .contentType: delivery.contentType
        case .contentEncoding: delivery.contentEncoding
        case .messageID: delivery.messageID
        case .correlationID: delivery.correlationID
        case .replyTo: delivery.replyTo
        case .type: delivery.type
        case .appID: delivery.appID
        case .expiration: delivery.expiration
        case .exchange: delivery.exchange
        case .routingKey: delivery.routingKey
        case .timestamp: delivery.timestampInSeconds.map { ArraySlice(String($0).utf8) }
        }
    }
}

struct MappedMessage {
    let delivery: Delivery
    /// The parsed body; `nil` if no source reads it.
    let document: JSONPart?

    func part(at pointer: JSONPointer) -> JSONPart? {
        document.flatMap(pointer.find)
    }

    func value(of reference: FieldReference) -> RequestFields.Value {
        switch reference {
        case .pointer(let pointer):
            guard let part = part(at: pointer) else { return .missing }
            return RequestFields.Value(part.value, in: part.document)
        case .header(let name): return delivery.header(named: name.utf8).map { .init($0) } ?? .missing
        case .property(let property): return property.text(of: delivery).map { .text($0) } ?? .missing
        }
    }
}

extension String {
    func dropPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
