package import Core

/// `apns-headers`: the body is the payload, and all other fields are AMQP headers with Apple's names. The fastest
/// format.
///
/// Numbers may be integers or decimal digits; `device-tokens` is a text of comma-separated tokens.
package struct APNsHeadersDecoder: RefusingDecoder {
    package let name = "apns-headers"

    package init() {}

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        return .request(try Self.request(delivery))
    }

    private static func request(_ delivery: Delivery) throws(DecodingFailure) -> Request {
        let body = delivery.body
        try RequestFields.checkPayload(body, "payload")
        var fields = RequestFields()
        fields.takesDigits = true
        var tokens = RequestFields.Value.missing
        delivery.forEachHeader(named: { RequestFields.Name($0) }) { name, value in
            let field = RequestFields.Value(value)
            if name == .deviceTokens { tokens = field } else { fields.set(name, field) }
        }
        switch tokens {
        case .missing: break
        case .text(let text): fields.deviceTokens = split(text)
        default: throw DecodingFailure("device-tokens: expected a text with commas between the tokens")
        }
        return try fields.request(payload: body)
    }

    static func split(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { token in
            var token = token
            while token.first == UInt8(ascii: " ") { token.removeFirst() }
            while token.last == UInt8(ascii: " ") { token.removeLast() }
            return token
        }
    }
}
