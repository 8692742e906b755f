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

    /// The request in one envelope.
    static func request(_ body: ArraySlice<UInt8>) throws(DecodingFailure) -> Request {
        var envelope = Envelope()
        do {
            try envelope.scan(body)
        } catch {
            throw DecodingFailure(error)
        }
        if let kind = envelope.otherKind { throw DecodingFailure("body: expected a JSON object, found \(kind.name)") }
        if let channel = envelope.channel {
            guard envelope.payload == nil, envelope.tokens == nil else {
                throw DecodingFailure("channel: expected neither payload nor device-tokens beside it")
            }
            return try envelope.fields.request(about: try ChannelFields(channel, in: body).parse())
        }
        guard let payload = envelope.payload else { throw DecodingFailure("payload: missing, expected a JSON object") }
        guard payload.kind == .object else {
            throw DecodingFailure("payload: expected a JSON object, found \(payload.kind.name)")
        }
        let bytes = body.slice(payload.range)
        guard !payload.isEmptyObject(in: body) else { throw DecodingFailure("payload: expected at least one key") }
        if let tokens = envelope.tokens { envelope.fields.deviceTokens = try texts(tokens, in: body) }
        return try envelope.fields.request(payload: bytes)
    }

    /// The elements of `device-tokens`. An element that is not a string becomes empty, which is not a valid device
    /// token.
    private static func texts(_ array: JSONValue, in body: ArraySlice<UInt8>) throws(DecodingFailure) -> [ArraySlice<
        UInt8
    >] {
        guard array.kind == .array else {
            throw DecodingFailure("device-tokens: expected an array, found \(array.kind.name)")
        }
        let bytes = body.span
        var scanner = JSONScanner(at: array.range.lowerBound)
        var texts: [ArraySlice<UInt8>] = []
        guard scanner.open(bytes, "[") else { preconditionFailure("an array begins with a bracket") }
        do {
            while try scanner.nextElement(bytes, isFirst: texts.isEmpty) {
                let value = try scanner.value(bytes, depth: 2)
                texts.append(value.kind == .string ? body.text(of: value) ?? [] : [])
            }
        } catch {
            throw DecodingFailure(error)
        }
        return texts
    }
}

/// The fields found in one body.
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
            guard let text = body.text(of: key), let name = RequestFields.Name(text) else { continue }
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

extension RequestFields.Value {
    /// A text or an integer is kept; `null` and an absent member become missing.
    init(_ part: JSONPart?) {
        if let part { self.init(part.value, in: part.document) } else { self = .missing }
    }

    /// A text from outside the message.
    init(_ text: String) {
        self = .text(ArraySlice(text.utf8))
    }

    /// A value that the scanner found in `body`.
    init(_ value: JSONValue, in body: ArraySlice<UInt8>) {
        switch value.kind {
        case .null: self = .missing
        case .string: self = body.text(of: value).map { .text($0) } ?? .other
        case .number: self = JSONText.integer(body.slice(value.range)).map { .integer($0) } ?? .other
        default: self = .other
        }
    }
}
