import Core

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
    func fill(_ fields: inout RequestFields, from message: MappedMessage) {
        for entry in sources {
            if entry.name == .deviceTokens {
                fillTokens(&fields, entry.source, from: message)
            } else {
                let value = entry.source.value(in: message)
                if case .missing = value { continue }
                fields.set(entry.name, value)
            }
        }
    }

    private func fillTokens(_ fields: inout RequestFields, _ source: FieldSource, from message: MappedMessage) {
        var tokens: [ArraySlice<UInt8>]?
        if case .pointer(let pointer)? = source.reference?.place, let part = message.part(at: pointer),
            part.kind == .array
        {
            tokens = part.elements.map { $0.text ?? [] }
        } else {
            switch source.value(in: message) {
            case .missing: return
            case .text(let text): tokens = APNsHeadersDecoder.split(text)
            default: break
            }
        }
        fields.set(.deviceToken, .missing)
        fields.setDeviceTokens(tokens, else: "an array, or a text with commas between the tokens")
    }
}
