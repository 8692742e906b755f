package import Core

/// `mapping`: any JSON, or any body with AMQP headers; the configuration maps each field.
package struct MappingDecoder: RefusingDecoder {
    package let name = "mapping"
    private let options: Options

    package struct Options: Equatable, Sendable {
        package var sources = FieldSources()
        package var payload = Payload.body
        /// The key of a request without a message ID.
        package var key: FieldSource?
        /// `nil` if every message is a request.
        package var condition: Condition?

        package init() {}
    }

    /// The condition for a message to be a request.
    package struct Condition: Equatable, Sendable {
        let source: FieldSource
        let values: [String]

        package init(_ source: FieldSource, in values: [String]) {
            self.source = source
            self.values = values
        }

        func holds(in message: MappedMessage) -> Bool {
            switch source.value(in: message) {
            case .text(let text): values.contains { $0.utf8.elementsEqual(text) }
            case .integer(let integer): values.contains(String(integer))
            case .missing, .other: false
            }
        }
    }

    package enum Payload: Equatable, Sendable {
        case body
        case pointer(JSONPointer, text: String)
        case template(FieldSource)

        package init(_ text: String) throws(InvalidOption) {
            if text == "body" {
                self = .body
            } else if text.hasPrefix("/") {
                guard let pointer = JSONPointer(text) else {
                    throw InvalidOption(
                        message: "\"\(text)\" is not a JSON pointer: write ~0 for ~ and ~1 for / in a key")
                }
                self = .pointer(pointer, text: text)
            } else if text.utf8.first(where: { $0 != 0x20 && $0 != 0x0A }) == UInt8(ascii: "{") {
                self = .template(try FieldSource(template: text))
            } else {
                throw InvalidOption(message: "expected a JSON pointer, body, or a JSON object with {/pointer} in it")
            }
        }

        var readsBody: Bool {
            switch self {
            case .body: false
            case .pointer: true
            case .template(let template): template.readsBody
            }
        }
    }

    init(_ options: Options) {
        self.options = options
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let message = MappedMessage(delivery: delivery, document: try document(of: delivery))
        if let condition = options.condition, !condition.holds(in: message) {
            return .ignore(reason: "only_if: the value is not accepted")
        }
        return .request(try request(message))
    }

    /// The parsed body, if a field needs it.
    private func document(of delivery: Delivery) throws(DecodingFailure) -> JSONPart? {
        let readsBody =
            options.sources.readsBody || options.payload.readsBody || options.key?.readsBody ?? false
            || options.condition?.source.readsBody ?? false
        return readsBody ? try JSONPart(delivery.body, called: "body") : nil
    }

    private func request(_ message: MappedMessage) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.takesDigits = true
        fields.sources = options.sources
        try options.sources.fill(&fields, from: message)
        let payload: ArraySlice<UInt8>
        do throws(DecodingFailure) {
            payload = try self.payload(of: message)
        } catch {
            throw fields.explained(error, payload: nil)
        }
        var request = try fields.request(payload: payload)
        switch options.key?.value(in: message) {
        case .text(let text): request.key = text
        case .integer(let integer): request.key = ArraySlice(String(integer).utf8)
        case .missing, .other, nil: break
        }
        return request
    }

    private func payload(of message: MappedMessage) throws(DecodingFailure) -> ArraySlice<UInt8> {
        let bytes: ArraySlice<UInt8>
        switch options.payload {
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
