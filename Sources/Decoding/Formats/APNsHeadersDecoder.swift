package import Core

/// `apns-headers`: the body is the payload, and all other fields are AMQP headers with Apple's names. The fastest
/// format.
///
/// Numbers may be integers or decimal digits; `device-tokens` is an array, or a text of comma-separated tokens.
package struct APNsHeadersDecoder: RefusingDecoder {
    package init() {}

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        var fields = Self.fields(of: delivery)
        let payload = fields.findings.check { () throws(DecodingFailure) in
            try RequestFields.payload(delivery.body)
        }
        do throws(DecodingFailure) {
            return .request(try fields.request(payload: payload))
        } catch {
            var failure = error
            // The producer may have put a whole request into the body, with its topic.
            if payload == nil || APNsJSONDecoder.isRequest(delivery.body) { failure.known?.lacksTopic = false }
            throw failure
        }
    }

    static func namesTarget(_ delivery: Delivery) -> Bool {
        var isNamed = false
        delivery.forEachHeader(named: { RequestFields.Name(header: $0) }) { name, _ in
            if name.isTarget { isNamed = true }
        }
        return isNamed
    }

    /// Visits the topic, device tokens and channel in the headers, always in the same order: brokers sort headers.
    package static func forEachTarget(of delivery: Delivery, _ visit: (ArraySlice<UInt8>) -> Void) {
        for wanted in [RequestFields.Name.topic, .deviceToken, .deviceTokens, .channelID] {
            delivery.forEachHeader(named: { RequestFields.Name(header: $0) }) { name, value in
                if name == wanted, case .text(let text) = value { visit(text) }
            }
        }
        for token in tokenArray(of: delivery) ?? [] { visit(token) }
    }

    /// What the headers say about a message that has no readable body.
    package static func known(of delivery: Delivery) -> DecodingFailure.Known {
        fields(of: delivery).known
    }

    private static func fields(of delivery: Delivery) -> RequestFields {
        var fields = RequestFields()
        fields.takesDigits = true
        func name(_ header: Span<UInt8>) -> RequestFields.Name? {
            if let name = RequestFields.Name(header: header) { return name }
            fields.remarks.notice(unknown: header)
            return nil
        }
        delivery.forEachHeader(named: name) { name, value in
            fields.count(name)
            fields[name] = RequestFields.Value(value)
        }
        switch fields[.deviceTokens] {
        case .missing: break
        case .text(let text): fields.setDeviceTokens(split(text), else: "")
        default:
            fields.setDeviceTokens(
                tokenArray(of: delivery), else: "an array of texts, or a text with commas between the tokens")
        }
        return fields
    }

    package static func tokenArray(of delivery: Delivery) -> [ArraySlice<UInt8>]? {
        delivery.texts { RequestFields.Name(header: $0) == .deviceTokens }
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
