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
            return binary(delivery, at: now)
        }
        // Some producers publish structured events as plain application/json.
        return try structured(delivery, at: now)
    }

    static func isBinary(_ delivery: Delivery) -> Bool {
        delivery.header("cloudEvents:specversion") != nil || delivery.header("cloudEvents_specversion") != nil
    }

    private func binary(_ delivery: Delivery, at now: WallTime) -> Decoded {
        decoded(delivery, RequestFields.Findings(), at: now) { _, name, other in
            guard case .text(let text)? = delivery.header(name) ?? delivery.header(other) else { return nil }
            return text
        }
    }

    private func structured(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let body = try JSONPart(delivery.body, called: "body")
        guard body.kind == .object else {
            throw DecodingFailure("body: expected a JSON object, found \(body.kind.name)")
        }
        let members = body.members
        var findings = RequestFields.Findings()
        let contentType = members["datacontenttype"]
        if contentType.map({ $0.text == nil }) ?? false {
            findings.add(DecodingFailure("datacontenttype: expected a string"))
        }
        let data = findings.check { () throws(DecodingFailure) -> ArraySlice<UInt8> in
            if let part = members["data"] { return part.text ?? part.raw }
            guard let part = members["data_base64"] else {
                throw DecodingFailure("data: missing; expected data or data_base64")
            }
            guard let text = part.text, let bytes = Base64.standard.decode(text.span) else {
                throw DecodingFailure("data_base64: expected base64")
            }
            return bytes[...]
        }
        let event = data.map { delivery.inner($0, contentType: contentType?.text) }
        return decoded(event, findings, at: now) { name, _, _ in members[name]?.text }
    }

    /// - Parameters:
    ///   - data: `nil` if the findings say that there is none.
    ///   - value: takes an attribute's name and the two names of its header.
    private func decoded(
        _ data: Delivery?, _ findings: RequestFields.Findings, at now: WallTime,
        _ value: (StaticString, StaticString, StaticString) -> ArraySlice<UInt8>?
    ) -> Decoded {
        var findings = findings
        func text(_ name: StaticString, _ header: StaticString, _ other: StaticString) -> ArraySlice<UInt8> {
            let text = value(name, header, other) ?? []
            if text.isEmpty { findings.add(DecodingFailure("\(name): missing; expected a text")) }
            return text
        }
        let version = text("specversion", "cloudEvents:specversion", "cloudEvents_specversion")
        if !version.isEmpty, !version.equals("1.0") {
            findings.add(DecodingFailure("specversion: expected 1.0, found \(RequestFields.quoted(version))"))
        }
        let id = text("id", "cloudEvents:id", "cloudEvents_id")
        let source = text("source", "cloudEvents:source", "cloudEvents_source")
        let type = text("type", "cloudEvents:type", "cloudEvents_type")
        let isMeant = types.isEmpty || type.isEmpty || types.contains { $0.utf8.elementsEqual(type) }
        guard isMeant else { return .ignore(reason: "another type of event") }
        let decoded = data.map { inner.decode($0, at: now) } ?? .ignore(reason: "no data")
        // Source and id together identify an event.
        var key: ArraySlice<UInt8>?
        if !source.isEmpty, !id.isEmpty { key = source + [0] + id }
        return findings.joined(to: decoded, key: key)
    }
}
