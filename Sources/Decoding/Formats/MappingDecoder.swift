import Core
import Settings

/// `mapping`: any JSON, or any body with AMQP headers; the configuration maps each field.
struct MappingDecoder: RefusingDecoder {
    let name = "mapping"
    private let sources: FieldSources
    private let payload: Payload
    private let key: FieldSource?
    /// The condition for a message to be a request; `nil` if every message is.
    private let condition: (source: FieldSource, values: [String])?

    private enum Payload {
        case body
        case pointer(JSONPointer, text: String)
        case template(FieldSource)
    }

    static let format = DecoderFormat(
        "mapping", version: "1.0.0", "Any message, with a source for each field.",
        FieldSources.settings + [
            Setting(
                "payload", .text(bytes: 1...16384), default: nil,
                "A JSON pointer to the payload, body if the body is the payload, or JSON with {/pointer} "
                    + "placeholders."),
            Setting(
                "key", .text(bytes: 1...1024), default: "null",
                "The key of a request without a message ID; a source like the fields."),
            Setting(
                "only_if", .texts(bytes: 0...1024, count: 0...65), default: "[]",
                "A source like the fields, and its accepted values; messages without one of them are ignored."),
        ]
    ) { options in MappingDecoder(&options) }

    private init(_ options: inout DecoderOptions) {
        sources = FieldSources(&options)
        payload = Self.payloadOption(&options)
        key = options.source("key")
        condition = Self.conditionOption(&options)
        if !["device-token", "device-tokens", "apns-channel-id"].contains(where: { options.text($0) != nil }) {
            options.report("", "expected one of device-token, device-tokens and apns-channel-id")
        }
    }

    private static func payloadOption(_ options: inout DecoderOptions) -> Payload {
        guard let text = options.text("payload") else {
            options.report("payload", "expected the source of the payload")
            return .body
        }
        if text == "body" { return .body }
        if text.hasPrefix("/") {
            if let pointer = JSONPointer(text) { return .pointer(pointer, text: text) }
            options.report("payload", "\"\(text)\" is not a JSON pointer: write ~0 for ~ and ~1 for / in a key")
            return .body
        }
        guard text.utf8.first(where: { $0 != 0x20 && $0 != 0x0A }) == UInt8(ascii: "{") else {
            options.report("payload", "expected a JSON pointer, body, or a JSON object with {/pointer} in it")
            return .body
        }
        do throws(FieldSource.Failure) {
            return .template(try FieldSource(template: text))
        } catch {
            options.report("payload", error.message)
            return .body
        }
    }

    private static func conditionOption(_ options: inout DecoderOptions) -> (source: FieldSource, values: [String])? {
        guard let texts = options.values.texts("only_if"), let source = texts.first else { return nil }
        if source.isEmpty || texts.count == 1 { options.report("only_if", "expected a source and its accepted values") }
        return options.source(source, of: "only_if[0]").map { ($0, Array(texts.dropFirst())) }
    }

    func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let message = MappedMessage(delivery: delivery, document: try document(of: delivery))
        if let condition, !Self.holds(condition, in: message) {
            return .ignore(reason: "only_if: the value is not accepted")
        }
        return .request(try request(message))
    }

    /// The parsed body, if a field needs it.
    private func document(of delivery: Delivery) throws(DecodingFailure) -> JSONPart? {
        let payloadReadsBody =
            switch payload {
            case .body: false
            case .pointer: true
            case .template(let template): template.readsBody
            }
        let conditionReadsBody = condition?.source.readsBody ?? false
        guard sources.readsBody || payloadReadsBody || conditionReadsBody || key?.readsBody ?? false else { return nil }
        return try JSONPart(delivery.body, called: "body")
    }

    private static func holds(_ condition: (source: FieldSource, values: [String]), in message: MappedMessage) -> Bool {
        switch condition.source.value(in: message) {
        case .text(let text): condition.values.contains { $0.utf8.elementsEqual(text) }
        case .integer(let integer): condition.values.contains(String(integer))
        case .missing, .other: false
        }
    }

    private func request(_ message: MappedMessage) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.takesDigits = true
        try sources.fill(&fields, from: message)
        var request = try fields.request(payload: try payload(of: message))
        switch key?.value(in: message) {
        case .text(let text): request.key = text
        case .integer(let integer): request.key = ArraySlice(String(integer).utf8)
        case .missing, .other, nil: break
        }
        return request
    }

    private func payload(of message: MappedMessage) throws(DecodingFailure) -> ArraySlice<UInt8> {
        let bytes: ArraySlice<UInt8>
        switch payload {
        case .body: bytes = message.delivery.body
        case .pointer(let pointer, let text):
            guard let part = message.part(at: pointer) else { throw DecodingFailure("payload: \(text) is missing") }
            // Some formats wrap it in a string.
            guard part.kind == .string else {
                guard part.kind == .object, !part.isEmptyObject else {
                    throw DecodingFailure("payload: expected a JSON object with a key, found \(part.kind.name)")
                }
                return part.raw
            }
            guard let unwrapped = part.text else { throw DecodingFailure("payload: \(text): half of a surrogate pair") }
            bytes = unwrapped
        case .template(let template): bytes = try template.json(in: message)[...]
        }
        try RequestFields.checkPayload(bytes, "payload")
        return bytes
    }
}
