package import Core

/// `apns-json`: a JSON envelope whose keys are Apple's header names; the payload is a slice of the body.
///
/// Unknown keys are ignored, the last of duplicate keys counts, and `null` is the same as a missing key.
package struct APNsJSONDecoder: RefusingDecoder {
    package let name = "apns-json"

    package init() {}

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        return .request(try Self.request(delivery.body))
    }

    static func request(_ body: ArraySlice<UInt8>) throws(DecodingFailure) -> Request {
        var envelope = Envelope()
        do {
            try envelope.scan(body)
        } catch {
            let failure = DecodingFailure(error, of: body)
            throw DecodingFailure(failure.detail, limit: failure.limit, known: envelope.fields.known)
        }
        if let kind = envelope.otherKind { throw DecodingFailure("body: expected a JSON object, found \(kind.name)") }
        if let channel = envelope.channel { return try request(about: channel, envelope, in: body) }
        if let tokens = envelope.tokens {
            envelope.fields.setDeviceTokens(
                tokens.kind == .array ? Self.texts(of: tokens, in: body) : nil,
                else: "an array, found \(tokens.kind.name)")
        }
        let found = envelope.payload
        let payload = envelope.fields.findings.check { () throws(DecodingFailure) in
            guard let found else { throw DecodingFailure("payload: missing, expected a JSON object") }
            try RequestFields.checkPayload(found, in: body)
            return body.slice(found.range)
        }
        return try envelope.fields.request(payload: payload)
    }

    /// The elements of an array in valid JSON. One that is not a string becomes empty, which is not a device token.
    private static func texts(of array: JSONValue, in body: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        let bytes = body.span
        var scanner = JSONScanner(at: array.range.lowerBound)
        var texts: [ArraySlice<UInt8>] = []
        guard scanner.open(bytes, "[") else { return [] }
        while (try? scanner.nextElement(bytes, isFirst: texts.isEmpty)) == true,
            let value = try? scanner.value(bytes, depth: 2)
        {
            texts.append(value.kind == .string ? body.text(of: value) ?? [] : [])
        }
        return texts
    }

    private static func request(
        about channel: JSONValue, _ envelope: Envelope, in body: ArraySlice<UInt8>
    ) throws(DecodingFailure) -> Request {
        let operation: ChannelOperation
        do throws(DecodingFailure) {
            guard envelope.payload == nil, envelope.tokens == nil else {
                throw DecodingFailure("channel: expected neither payload nor device-tokens beside it")
            }
            operation = try ChannelOperation(JSONPart(channel, of: body))
        } catch {
            throw DecodingFailure(error.detail, limit: error.limit, known: envelope.fields.known)
        }
        return try envelope.fields.request(about: operation)
    }
}

private struct Envelope {
    var fields = RequestFields()
    var payload: JSONValue?
    var tokens: JSONValue?
    var channel: JSONValue?
    /// The body's type, if it is not an object.
    var otherKind: JSONValue.Kind?

    mutating func scan(_ body: ArraySlice<UInt8>) throws(JSONFailure) {
        let bytes = body.span
        var scanner = JSONScanner()
        guard scanner.open(bytes, "{") else {
            otherKind = try scanner.value(bytes, depth: 0).kind
            return try scanner.end(bytes)
        }
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: isFirst) {
            isFirst = false
            let value = try scanner.value(bytes, depth: 1)
            guard let text = body.text(of: key) else { continue }
            guard let name = RequestFields.Name(text) else {
                fields.notice(unknown: text.span)
                continue
            }
            switch name {
            case .payload: payload = value.kind == .null ? nil : value
            case .deviceTokens: tokens = value.kind == .null ? nil : value
            case .channel: channel = value.kind == .null ? nil : value
            default: fields.set(name, RequestFields.Value(value, in: body))
            }
        }
        try scanner.end(bytes)
    }
}
