package import Core

/// `cloudevents`: the data of an event, decoded by another decoder.
///
/// In structured mode the body is the event as JSON. In binary mode the body is the data, and the attributes are
/// headers named `cloudEvents:…` or `cloudEvents_…`. Sources: CloudEvents 1.0.2, JSON event format and AMQP protocol
/// binding.
package struct CloudEventsDecoder: RefusingDecoder {
    package struct Options: Equatable, Sendable {
        /// The name of the decoder of the event's data.
        package var decoder: String
        /// Only events of these types are requests; empty for all types.
        package var types: [String]

        package init(decoder: String, types: [String]) {
            self.decoder = decoder
            self.types = types
        }
    }

    package let name = "cloudevents"
    private let inner: any Decoder
    private let types: [String]

    init(_ inner: any Decoder, types: [String] = []) {
        self.inner = inner
        self.types = types
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let isNamed = delivery.contentType.map { ContentType($0).hasPrefix("application/cloudevents") } ?? false
        // Some producers publish structured events as plain application/json.
        let isStructured = isNamed || !Self.isBinary(delivery)
        return isStructured ? try structured(delivery, at: now) : try binary(delivery, at: now)
    }

    private enum Attribute: CaseIterable {
        case specversion, id, source, type

        var name: StaticString {
            switch self {
            case .specversion: "specversion"
            case .id: "id"
            case .source: "source"
            case .type: "type"
            }
        }

        func value(in delivery: Delivery) -> ArraySlice<UInt8>? {
            let value =
                switch self {
                case .specversion:
                    delivery.header("cloudEvents:specversion") ?? delivery.header("cloudEvents_specversion")
                case .id: delivery.header("cloudEvents:id") ?? delivery.header("cloudEvents_id")
                case .source: delivery.header("cloudEvents:source") ?? delivery.header("cloudEvents_source")
                case .type: delivery.header("cloudEvents:type") ?? delivery.header("cloudEvents_type")
                }
            if case .text(let text)? = value { return text }
            return nil
        }
    }

    /// Whether a message has the headers of an event in binary mode.
    static func isBinary(_ delivery: Delivery) -> Bool {
        Attribute.specversion.value(in: delivery) != nil
    }

    private func binary(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        try decoded(delivery, at: now) { $0.value(in: delivery) }
    }

    private func structured(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        if let contentType = delivery.contentType, ContentType(contentType).hasPrefix("application/cloudevents") {
            guard ContentType(contentType).matches("application/cloudevents+json") else {
                throw DecodingFailure("content-type: expected application/cloudevents+json")
            }
        }
        let body = try JSONPart(delivery.body, called: "body")
        guard body.kind == .object else {
            throw DecodingFailure("body: expected a JSON object, found \(body.kind.name)")
        }
        let members = JSONMembers(body)
        let contentType = members["datacontenttype"]
        if contentType.map({ $0.text == nil }) ?? false { throw DecodingFailure("datacontenttype: expected a string") }
        let data: Delivery
        if let part = members["data"] {
            if part.kind == .string, let text = part.text {
                data = delivery.inner(unwrapped: text, contentType: contentType?.text)
            } else if let contentType, contentType.value.isEscaped {
                data = delivery.inner(unwrapped: part.raw, contentType: contentType.text)
            } else {
                data = delivery.inner(part.value.range, contentType: contentType?.value.range)
            }
        } else if let part = members["data_base64"] {
            guard let text = part.text, let bytes = Base64.standard.decode(text.span) else {
                throw DecodingFailure("data_base64: expected base64")
            }
            data = delivery.inner(unwrapped: bytes, contentType: contentType?.text)
        } else {
            throw DecodingFailure("data: missing; expected data or data_base64")
        }
        return try decoded(data, at: now) { members[$0.name]?.text }
    }

    private func decoded(
        _ data: Delivery, at now: WallTime, _ attribute: (Attribute) -> ArraySlice<UInt8>?
    ) throws(DecodingFailure) -> Decoded {
        for required in Attribute.allCases where attribute(required)?.isEmpty ?? true {
            throw DecodingFailure("\(required.name): missing; expected a text")
        }
        let version = attribute(.specversion) ?? []
        guard version.equals("1.0"), let type = attribute(.type), let source = attribute(.source),
            let id = attribute(.id)
        else { throw DecodingFailure("specversion: expected 1.0, found \(RequestFields.quoted(version))") }
        guard types.isEmpty || types.contains(where: { $0.utf8.elementsEqual(type) }) else {
            return .ignore(reason: "another type of event")
        }
        let decoded = inner.decode(data, at: now)
        guard case .request(var request) = decoded else { return decoded }
        // Source and id together identify an event.
        if request.key == nil { request.key = source + [0] + id }
        return .request(request)
    }
}
