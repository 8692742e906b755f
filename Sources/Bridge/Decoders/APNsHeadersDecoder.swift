package import Core

/// `apns-headers`: the body is the payload, and all else stands in AMQP headers of Apple's names: the cheapest form.
///
/// Numbers may be integers or decimal digits; `device-tokens` is a text of tokens with commas between them.
package struct APNsHeadersDecoder: Decoder {
    package let name = "apns-headers"

    package init() {}

    package func decode(_ delivery: Delivery) -> Decoded {
        do {
            return .request(try Self.request(delivery))
        } catch {
            return .reject(error)
        }
    }

    private static func request(_ delivery: Delivery) throws(DecodingFailure) -> Request {
        let body = delivery.body
        let payload: JSONValue
        do {
            payload = try scan(body)
        } catch {
            throw DecodingFailure(error)
        }
        guard payload.kind == .object else {
            throw DecodingFailure("body: expected a JSON object, found \(payload.kind.name)")
        }
        guard !payload.isEmptyObject(in: body) else { throw DecodingFailure("body: expected at least one key") }
        var fields = RequestFields()
        fields.takesDigits = true
        var tokens = RequestFields.Value.missing
        delivery.forEachHeader { name, value in
            guard let name = RequestFields.Name(name) else { return }
            let field: RequestFields.Value =
                switch value {
                case .text(let text): .text(text)
                case .integer(let integer): .integer(integer)
                default: .other
                }
            if name == .deviceTokens { tokens = field } else { fields.set(name, field) }
        }
        switch tokens {
        case .missing: break
        case .text(let text): fields.deviceTokens = split(text)
        default: throw DecodingFailure("device-tokens: expected a text with commas between the tokens")
        }
        return try fields.request(payload: body)
    }

    private static func scan(_ body: ArraySlice<UInt8>) throws(JSONFailure) -> JSONValue {
        var scanner = JSONScanner()
        let value = try scanner.value(body.span, depth: 0)
        try scanner.end(body.span)
        return value
    }

    private static func split(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { token in
            var token = token
            while token.first == UInt8(ascii: " ") { token.removeFirst() }
            while token.last == UInt8(ascii: " ") { token.removeLast() }
            return token
        }
    }
}
