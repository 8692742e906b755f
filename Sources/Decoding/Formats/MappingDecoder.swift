package import Core

/// `mapping`: any JSON, or any body with AMQP headers; the configuration maps each field.
package struct MappingDecoder: RefusingDecoder {
    package let name = "mapping"
    private let options: Options
    /// The sources as written in the configuration, for errors.
    private let places: [RequestFields.Name: String]
    /// Whether a source reads the body, which is then parsed.
    private let readsBody: Bool

    /// The fields that can have a source.
    package static let names = RequestFields.Name.allCases.filter {
        $0 != .payload && $0 != .channel && $0 != .requestID
    }

    package struct Options: Equatable, Sendable {
        package var fields: [Field] = []
        package var payload = Payload.body
        /// The key of a request without a message ID.
        package var key: FieldSource?
        /// `nil` if every message is a request.
        package var condition: Condition?

        package init() {}
    }

    package struct Field: Equatable, Sendable {
        let name: RequestFields.Name
        let source: FieldSource

        package init(_ name: RequestFields.Name, _ source: FieldSource) {
            self.name = name
            self.source = source
        }
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
            // A number may be written with a point, as 2.0.
            case .integer(let integer):
                values.contains { JSONText.wholeNumber(Array($0.utf8)[...]) == integer || $0 == String(integer) }
            case .number(let digits): values.contains { $0.utf8.elementsEqual(digits) }
            case .boolean(let isTrue): values.contains("\(isTrue)")
            case .missing, .other: false
            }
        }
    }

    package enum Payload: Equatable, Sendable {
        case body
        /// A JSON pointer, or a template.
        case source(FieldSource)

        package init(_ text: String) throws(InvalidOption) {
            if text == "body" {
                self = .body
            } else if text.hasPrefix("/") {
                self = .source(try FieldSource(text))
            } else if text.utf8.first(where: { $0 != 0x20 && $0 != 0x0A }) == UInt8(ascii: "{") {
                self = .source(try FieldSource(template: text))
            } else {
                throw InvalidOption(message: "expected a JSON pointer, body, or a JSON object with {/pointer} in it")
            }
        }

        var readsBody: Bool {
            if case .source(let source) = self { source.readsBody } else { false }
        }
    }

    init(_ options: Options) {
        self.options = options
        places = Dictionary(uniqueKeysWithValues: options.fields.map { ($0.name, $0.source.description) })
        let sources = options.fields.map(\.source) + [options.key, options.condition?.source].compactMap(\.self)
        readsBody = options.payload.readsBody || sources.contains { $0.readsBody }
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let document = readsBody ? try JSONPart(delivery.body, called: "body") : nil
        let message = MappedMessage(delivery: delivery, document: document)
        if let condition = options.condition, !condition.holds(in: message) {
            return .ignore(reason: "only_if: the value is not accepted")
        }
        return .request(try request(message))
    }

    private func request(_ message: MappedMessage) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.takesDigits = true
        fields.places = places
        for field in options.fields where field.name != .deviceTokens {
            fields[field.name] = field.source.value(in: message)
        }
        if let field = options.fields.first(where: { $0.name == .deviceTokens }) {
            setTokens(field.source, of: &fields, from: message)
        }
        let payload = fields.findings.check { () throws(DecodingFailure) in try self.payload(of: message) }
        var request = try fields.request(payload: payload)
        switch options.key?.value(in: message) {
        case .text(let text): request.key = text
        case .integer(let integer): request.key = ArraySlice(String(integer).utf8)
        case .missing, .number, .boolean, .other, nil: break
        }
        return request
    }

    private func setTokens(_ source: FieldSource, of fields: inout RequestFields, from message: MappedMessage) {
        var tokens: [ArraySlice<UInt8>]?
        if case .pointer(let pointer)? = source.reference, let part = message.part(at: pointer), part.kind == .array {
            tokens = part.texts
        } else {
            switch source.value(in: message) {
            case .missing: return
            case .text(let text): tokens = APNsHeadersDecoder.split(text)
            default: break
            }
        }
        fields[.deviceToken] = .missing
        fields.setDeviceTokens(tokens, else: "an array, or a text with commas between the tokens")
    }

    private func payload(of message: MappedMessage) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard case .source(let source) = options.payload else {
            return try RequestFields.payload(message.delivery.body)
        }
        guard case .pointer(let pointer)? = source.reference else {
            return try RequestFields.payload(try source.json(in: message)[...])
        }
        guard let part = message.part(at: pointer) else {
            throw DecodingFailure("payload: \(source.description) is missing")
        }
        // Some formats wrap it in a string.
        guard part.kind == .string else {
            try RequestFields.checkPayload(part.value, in: part.document)
            return part.raw
        }
        guard let text = part.text else {
            throw DecodingFailure("payload: \(source.description): half of a surrogate pair")
        }
        return try RequestFields.payload(text)
    }
}
