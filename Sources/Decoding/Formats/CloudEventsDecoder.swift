package import Core

/// `cloudevents`: the data of an event, decoded by another decoder.
///
/// In structured mode the body is the event as JSON. In binary mode the body is the data, and the attributes are
/// headers named `cloudEvents:…` or `cloudEvents_…`. Sources: CloudEvents 1.0.2, JSON event format and AMQP protocol
/// binding.
package struct CloudEventsDecoder: RefusingDecoder {
    private let inner: any Decoder
    private let types: [String]

    package var usesReplyTo: Bool { inner.usesReplyTo }

    init(_ inner: any Decoder, types: [String] = []) {
        self.inner = inner
        self.types = types
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let type = delivery.contentType.map { ContentType($0) }
        if let type, type.hasPrefix("application/cloudevents") {
            guard type.matches("application/cloudevents+json") else {
                throw DecodingFailure("content-type: expected application/cloudevents+json")
            }
        } else if Self.isBinary(delivery) {
            return try binary(delivery, at: now)
        }
        // Some producers publish structured events as plain application/json.
        return try structured(delivery, at: now)
    }

    private struct Attributes {
        let specversion: ArraySlice<UInt8>
        let id: ArraySlice<UInt8>
        let source: ArraySlice<UInt8>
        let type: ArraySlice<UInt8>

        /// - Parameter value: takes an attribute's name and the two names of its header.
        init(_ value: (StaticString, StaticString, StaticString) -> ArraySlice<UInt8>?) throws(DecodingFailure) {
            func text(
                _ name: StaticString, _ header: StaticString, _ other: StaticString
            ) throws(DecodingFailure) -> ArraySlice<UInt8> {
                guard let text = value(name, header, other), !text.isEmpty else {
                    throw DecodingFailure("\(name): missing; expected a text")
                }
                return text
            }
            specversion = try text("specversion", "cloudEvents:specversion", "cloudEvents_specversion")
            id = try text("id", "cloudEvents:id", "cloudEvents_id")
            source = try text("source", "cloudEvents:source", "cloudEvents_source")
            type = try text("type", "cloudEvents:type", "cloudEvents_type")
        }
    }

    static func isBinary(_ delivery: Delivery) -> Bool {
        delivery.header("cloudEvents:specversion") != nil || delivery.header("cloudEvents_specversion") != nil
    }

    private func binary(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let attributes = try Attributes { _, name, other in
            guard case .text(let text)? = delivery.header(name) ?? delivery.header(other) else { return nil }
            return text
        }
        return try decoded(delivery, attributes, at: now)
    }

    private func structured(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart(delivery.body, called: "body")
        guard body.kind == .object else {
            throw DecodingFailure("body: expected a JSON object, found \(body.kind.name)")
        }
        let members = body.members
        let contentType = members["datacontenttype"]
        if contentType.map({ $0.text == nil }) ?? false { throw DecodingFailure("datacontenttype: expected a string") }
        let data: ArraySlice<UInt8>
        if let part = members["data"] {
            data = part.text ?? part.raw
        } else if let part = members["data_base64"] {
            guard let text = part.text, let bytes = Base64.standard.decode(text.span) else {
                throw DecodingFailure("data_base64: expected base64")
            }
            data = bytes[...]
        } else {
            throw DecodingFailure("data: missing; expected data or data_base64")
        }
        let attributes = try Attributes { name, _, _ in members[name]?.text }
        return try decoded(delivery.inner(data, contentType: contentType?.text), attributes, at: now)
    }

    private func decoded(
        _ data: Delivery, _ attributes: Attributes, at now: WallTime
    ) throws(DecodingFailure) -> Decoded {
        guard attributes.specversion.equals("1.0") else {
            throw DecodingFailure(
                "specversion: expected 1.0, found \(RequestFields.quoted(attributes.specversion))")
        }
        guard types.isEmpty || types.contains(where: { $0.utf8.elementsEqual(attributes.type) }) else {
            return .ignore(reason: "another type of event")
        }
        // Source and id together identify an event.
        func key() -> ArraySlice<UInt8> { attributes.source + [0] + attributes.id }
        let decoded = inner.decode(data, at: now)
        if case .reject(let failure) = decoded { return .reject(failure.keyed(key())) }
        guard case .request(var request) = decoded else { return decoded }
        if request.key == nil { request.key = key() }
        return .request(request)
    }
}
