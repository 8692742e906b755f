import Core

/// The configured sources of a request's fields.
package struct FieldSources: Equatable, Sendable {
    private struct Entry: Equatable, Sendable {
        let name: RequestFields.Name
        let source: FieldSource
    }

    private var sources: [Entry] = []

    package init() {}

    /// The fields that can have a source.
    package static let names = RequestFields.Name.allCases.filter {
        $0 != .payload && $0 != .channel && $0 != .requestID
    }

    package mutating func set(_ name: RequestFields.Name, _ source: FieldSource) {
        sources.append(Entry(name: name, source: source))
    }

    /// The source of a field as written in the configuration; `nil` if it has none.
    func description(of name: RequestFields.Name) -> String? {
        sources.first { $0.name == name }?.source.description
    }

    var readsBody: Bool {
        sources.contains { $0.source.readsBody }
    }

    /// Sets every field that has a source and a value in the message.
    func fill(_ fields: inout RequestFields, from message: MappedMessage) throws(DecodingFailure) {
        for entry in sources {
            let (name, source) = (entry.name, entry.source)
            guard name != .deviceTokens else {
                if let tokens = try tokens(source, in: message) {
                    fields.deviceTokens = tokens
                    fields.deviceToken = .missing
                }
                continue
            }
            let value = source.value(in: message)
            if case .missing = value { continue }
            fields.set(name, value)
        }
    }

    private func tokens(
        _ source: FieldSource, in message: MappedMessage
    ) throws(DecodingFailure) -> [ArraySlice<UInt8>]? {
        if case .pointer(let pointer, _) = source.reference {
            guard let part = message.part(at: pointer) else { return nil }
            if part.kind == .array { return try part.texts("device-tokens") }
        }
        switch source.value(in: message) {
        case .text(let text): return APNsHeadersDecoder.split(text)
        case .missing: return nil
        default: throw DecodingFailure("device-tokens: expected an array, or a text with commas between the tokens")
        }
    }
}

extension JSONPart {
    /// The elements of an array of strings.
    ///
    /// - Parameter name: its name in an error.
    func texts(_ name: String) throws(DecodingFailure) -> [ArraySlice<UInt8>] {
        guard kind == .array else { throw DecodingFailure("\(name): expected an array, found \(kind.name)") }
        var texts: [ArraySlice<UInt8>] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.text else {
                throw DecodingFailure("\(name)[\(index)]: expected a string, found \(element.kind.name)")
            }
            texts.append(text)
        }
        return texts
    }
}
