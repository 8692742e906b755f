package import Core

/// `mapping`: any JSON, or any body with AMQP headers; the configuration maps each field.
package struct MappingDecoder: RefusingDecoder {
    private let options: Options
    /// All but the device tokens'.
    private let fields: [(name: RequestFields.Name, source: FieldSource)]
    /// The sources as written in the configuration, for errors.
    private let places: [RequestFields.Name: String]
    /// Whether a source reads the body, which is then parsed.
    private let readsBody: Bool

    /// The fields that can have a source.
    package static let names = RequestFields.Name.allCases.filter {
        $0 != .payload && $0 != .channel && $0 != .requestID
    }

    package struct Options: Equatable, Sendable {
        package var fields: [RequestFields.Name: FieldSource] = [:]
        /// A JSON pointer, or a template; `nil` if the body is the payload.
        package var payload: FieldSource?
        /// The key of a request without a message ID.
        package var key: FieldSource?
        /// A message is a request if this has one of the accepted values; `nil` if every message is one.
        package var condition: FieldSource?
        package var accepted: [String] = []

        package init() {}
    }

    /// - Parameter name: its field; `nil` for the key and the condition. These and the ID must depend on the message.
    package static func source(_ text: String, of name: RequestFields.Name?) throws(Complaint) -> FieldSource {
        let source = try FieldSource(text)
        guard let constant = source.constant else { return source }
        guard let name, name != .id else {
            throw Complaint("\"\(text)\" is a constant; use a JSON pointer such as /id, header:NAME or property:NAME")
        }
        var fields = RequestFields()
        fields.takesDigits = true
        // With a target, only the constant can be wrong.
        fields[.deviceToken] = name.isTarget ? .missing : .text([0x30, 0x30])
        fields[name] = .text(constant)
        if name == .deviceTokens { fields.setDeviceTokens(APNsHeadersDecoder.split(constant), else: "") }
        _ = try? fields.request(payload: nil)
        guard let finding = fields.findings.details.first else { return source }
        throw Complaint(finding.dropPrefix("\(name.text): ") ?? finding)
    }

    package static func payload(_ text: String) throws(Complaint) -> FieldSource? {
        if text == "body" { return nil }
        if text.hasPrefix("/") { return try FieldSource(text) }
        guard text.utf8.first(where: { $0 != 0x20 && $0 != 0x0A }) == UInt8(ascii: "{") else {
            throw Complaint("expected a JSON pointer, body, or a JSON object with {/pointer} in it")
        }
        let template = try FieldSource(template: text)
        // A placeholder outside of strings may be a value, a key or the whole payload.
        let fits = [false, true].allSatisfy { usesDefaults in
            ["1", "\"1\"", "{\"1\":1}"].contains { value in
                (try? RequestFields.payload(template.example(value, usesDefaults: usesDefaults)[...])) != nil
            }
        }
        if fits { return template }
        throw Complaint("no JSON object, whatever replaces {/pointer}: check keys, quotes, commas, braces and defaults")
    }

    init(_ options: Options) {
        self.options = options
        fields = options.fields.filter { $0.key != .deviceTokens }.map { ($0.key, $0.value) }
        places = options.fields.mapValues(\.description)
        let others = [options.key, options.condition, options.payload].compactMap(\.self)
        readsBody = (Array(options.fields.values) + others).contains { $0.readsBody }
    }

    package func decoded(_ delivery: Delivery, at now: WallTime) throws(DecodingFailure) -> Decoded {
        let document = readsBody ? try JSONPart(delivery.body, called: "body") : nil
        let message = MappedMessage(delivery: delivery, document: document)
        if let condition = options.condition, !accepts(condition.value(in: message)) {
            return .ignore(reason: "only_if: the value is not accepted")
        }
        return .request(try request(message))
    }

    private func accepts(_ value: RequestFields.Value) -> Bool {
        let values = options.accepted
        return switch value {
        case .text(let text): values.contains { $0.utf8.elementsEqual(text) }
        // A number may be written with a point, as 2.0.
        case .integer(let integer):
            values.contains { JSONText.wholeNumber(Array($0.utf8)[...]) == integer || $0 == String(integer) }
        case .number(let digits): values.contains { $0.utf8.elementsEqual(digits) }
        case .boolean(let isTrue): values.contains("\(isTrue)")
        case .missing, .other: false
        }
    }

    private func request(_ message: MappedMessage) throws(DecodingFailure) -> Request {
        var fields = RequestFields()
        fields.takesDigits = true
        fields.places = places
        for (name, source) in self.fields { fields[name] = source.value(in: message) }
        if let source = options.fields[.deviceTokens] { setTokens(source, of: &fields, from: message) }
        let payload = fields.findings.check { () throws(DecodingFailure) in try self.payload(of: message) }
        switch options.key?.value(in: message) {
        case .text(let text): fields.key = text
        case .integer(let integer): fields.key = ArraySlice(String(integer).utf8)
        case .missing, .number, .boolean, .other, nil: break
        }
        return try fields.request(payload: payload)
    }

    private func setTokens(_ source: FieldSource, of fields: inout RequestFields, from message: MappedMessage) {
        var tokens: [ArraySlice<UInt8>]?
        switch (source.value(in: message), source.reference) {
        case (.missing, _): return
        case (.text(let text), _): tokens = APNsHeadersDecoder.split(text)
        case (.other, .header(let name)?): tokens = message.delivery.texts { $0.equals(Array(name.utf8).span) }
        case (.other, .pointer(let pointer)?):
            if let part = message.part(at: pointer), part.kind == .array { tokens = part.texts }
        default: break
        }
        fields[.deviceToken] = .missing
        fields.setDeviceTokens(tokens, else: "an array, or a text with commas between the tokens")
    }

    private func payload(of message: MappedMessage) throws(DecodingFailure) -> ArraySlice<UInt8> {
        guard let source = options.payload else { return try RequestFields.payload(message.delivery.body) }
        guard case .pointer(let pointer)? = source.reference else {
            return try RequestFields.payload(try source.json(in: message)[...])
        }
        guard let part = message.part(at: pointer) else {
            throw DecodingFailure("payload: \(source.description) is missing")
        }
        // Some formats wrap it in a string.
        guard part.kind == .string else {
            try RequestFields.checkPayload(part)
            return part.raw
        }
        guard let text = part.text else {
            throw DecodingFailure("payload: \(source.description): half of a surrogate pair")
        }
        return try RequestFields.payload(text)
    }
}
