package import Core

/// The decoders of one configuration by name: each format with its defaults, and the entries of `decoders`.
package struct DecoderSet: Sendable {
    private var decoders: [String: any Decoder]
    private let names: [String]

    /// The configuration's rules create all decoders once to report their problems. If a shared library has changed
    /// since then, its decoder reports the error.
    ///
    /// - Parameters:
    ///   - definitions: without any, the formats with their defaults.
    ///   - report: takes the index of a definition, an option relative to its section, and what is wrong with it.
    package init(
        _ definitions: [DecoderDefinition] = [], report: (Int, String, String) -> Void = { _, _, _ in }
    ) {
        let formats = DecoderFormat.allCases.map(\.rawValue)
        names = formats + definitions.map(\.name).filter { !formats.contains($0) }
        let plain: [DecoderFormat: any Decoder] = [
            .auto: AutoDecoder(), .apnsJSON: APNsJSONDecoder(), .apnsHeaders: APNsHeadersDecoder(),
            .cloudevents: CloudEventsDecoder(AutoDecoder(takesEvents: false)),
        ]
        decoders = Dictionary(uniqueKeysWithValues: plain.map { ($0.key.rawValue, $0.value) })
        // Those that contain others are made after them.
        var waiting = Array(definitions.enumerated())
        while !waiting.isEmpty {
            let names = Set(waiting.map(\.element.name))
            let ready = waiting.filter { $0.element.options.inner.allSatisfy { !names.contains($0.name) } }
            for (index, definition) in ready.isEmpty ? waiting : ready {
                make(definition, endless: ready.isEmpty ? names : []) { report(index, $0, $1) }
            }
            waiting.removeAll { entry in ready.isEmpty || ready.contains { $0.offset == entry.offset } }
        }
    }

    /// - Parameter endless: the names of decoders that contain themselves, perhaps through others.
    private mutating func make(
        _ definition: DecoderDefinition, endless: Set<String>, _ report: (String, String) -> Void
    ) {
        let inner = definition.options.inner.map { name, path -> any Decoder in
            if endless.contains(name) {
                report(path, "\"\(name)\" would contain itself")
            } else if let complaint = complaint(about: name) {
                report(path, complaint)
            } else if decoders[name] is ProcessDecoder {
                report(path, "\"\(name)\" is a process, which is asynchronous: it cannot be part of another decoder")
            } else if let decoder = decoders[name] {
                // Headers that look like fields may belong to the outer format.
                if decoder is AutoDecoder { return AutoDecoder(takesEvents: false) }
                return decoder
            }
            return APNsJSONDecoder()
        }
        decoders[definition.name] =
            switch definition.options {
            case .mapping(let options): MappingDecoder(options)
            case .cloudevents(_, let types): CloudEventsDecoder(inner[0], types: types)
            case .celery(let options): CeleryDecoder(options, inner)
            case .library(let file, let options): LibraryDecoder(file, options, report)
            case .process(let options): ProcessDecoder(options: options)
            }
    }

    /// - Returns: `nil` unless a decoder has this name and all its required options are set.
    package subscript(name: String) -> (any Decoder)? { decoders[name] }

    /// The error for a name, with the nearest one; `nil` if it can be resolved to a decoder.
    package func complaint(about name: String) -> String? {
        guard decoders[name] == nil else { return nil }
        if DecoderFormat(rawValue: name) != nil {
            return "\"\(name)\" has options: name an entry of decoders with them"
        }
        if DecoderFormat.removed.contains(name) {
            return "the format \"\(name)\" was removed; \(DecoderFormat.replacement)"
        }
        let question = Suggestion.question(Suggestion.closest(to: name, among: names)).map { "; \($0)" } ?? ""
        return "\"\(name)\" is not one of \(names.joined(separator: ", "))\(question)"
    }
}
