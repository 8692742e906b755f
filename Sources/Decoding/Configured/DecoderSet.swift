package import Core

/// The decoders of one configuration by name: each format with its defaults, and the entries of `decoders`.
package struct DecoderSet: Sendable {
    /// Why a name cannot be resolved to a decoder.
    private struct Refusal: Error {
        let message: String
        /// A suggestion to append to the message. It shows what the wrong name resembles.
        var hint = ""
        /// Whether the error is due to nesting and must be reported by the outer decoders.
        var isAboutNesting = false
    }

    /// A problem with a definition.
    package struct Problem {
        /// The index of the definition.
        package let definition: Int
        /// The option, relative to the definition's section.
        package let path: String
        package let message: String
        /// A suggestion to append to the message. It shows what the option's value resembles.
        package var hint = ""
    }

    /// The maximum nesting depth of decoders.
    package static let maximumNesting = 4

    private var decoders: [String: Result<any Decoder, Refusal>] = [:]
    private let names: [String]

    /// - Parameter definitions: those of a validated configuration; without any, the formats with their defaults.
    package init(_ definitions: [DecoderDefinition] = []) {
        // The configuration's rules have already created all decoders once. If a shared library has changed since
        // then, its decoder reports the error.
        var problems: [Problem] = []
        self.init(definitions, problems: &problems)
    }

    package init(_ definitions: [DecoderDefinition], problems: inout [Problem]) {
        let maker = Maker(definitions: definitions)
        names = maker.names
        for name in names { decoders[name] = maker.find(name, within: []) }
        problems += maker.problems.sorted { $0.definition < $1.definition }
    }

    /// - Returns: `nil` unless a decoder has this name and all its required options are set.
    package subscript(name: String) -> (any Decoder)? {
        if case .success(let decoder) = decoders[name] { decoder } else { nil }
    }

    /// The semantic version of a decoder's format; `nil` if it has none.
    package func version(of decoder: any Decoder) -> String? {
        DecoderFormat(rawValue: decoder.name).map { _ in DecoderFormat.version }
    }

    /// The error for a name; `nil` if it can be resolved to a decoder.
    ///
    /// - Parameter hints: whether to append a suggestion.
    package func complaint(about name: String, hints: Bool = true) -> String? {
        let refusal: Refusal
        switch decoders[name] {
        case .success: return nil
        case .failure(let known): refusal = known
        case nil: refusal = Self.unknown(name, among: names)
        }
        return refusal.message + (hints ? refusal.hint : "")
    }

    /// Creates decoders, nested ones first.
    private final class Maker {
        private let definitions: [DecoderDefinition]
        private(set) var problems: [Problem] = []

        init(definitions: [DecoderDefinition]) {
            self.definitions = definitions
        }

        var names: [String] {
            let formats = DecoderFormat.allCases.map(\.rawValue)
            return formats + definitions.map(\.name).filter { !formats.contains($0) }
        }

        /// - Parameter outer: the enclosing decoders. The decoder's own problems are recorded only if there are none.
        func find(_ name: String, within outer: [String]) -> Result<any Decoder, Refusal> {
            guard !outer.contains(name) else {
                return .failure(Refusal(message: "\"\(name)\" would contain itself", isAboutNesting: true))
            }
            guard outer.count < DecoderSet.maximumNesting else {
                let limit = DecoderSet.maximumNesting
                return .failure(
                    Refusal(message: "more than \(limit) decoders are nested", isAboutNesting: true))
            }
            if let place = definitions.firstIndex(where: { $0.name == name }) { return make(place, within: outer) }
            switch DecoderFormat(rawValue: name) {
            case .auto: return .success(AutoDecoder())
            case .apnsJSON: return .success(APNsJSONDecoder())
            case .apnsHeaders: return .success(APNsHeadersDecoder())
            case .cloudevents: return .success(CloudEventsDecoder(AutoDecoder()))
            case .mapping, .celery, .library, .process:
                return .failure(Refusal(message: "\"\(name)\" has options: name an entry of decoders with them"))
            case nil: return .failure(DecoderSet.unknown(name, among: names))
            }
        }

        private func make(_ place: Int, within outer: [String]) -> Result<any Decoder, Refusal> {
            let definition = definitions[place]
            var nesting: Refusal?
            func report(_ path: String, _ message: String, hint: String = "") {
                guard outer.isEmpty else { return }
                problems.append(Problem(definition: place, path: path, message: message, hint: hint))
            }
            func inner(_ name: String, _ path: String) -> any Decoder {
                switch find(name, within: outer + [definition.name]) {
                case .success(let decoder) where decoder is ProcessDecoder:
                    report(
                        path, "\"\(name)\" is a process, which is asynchronous: it cannot be part of another decoder")
                case .success(let decoder): return decoder
                case .failure(let refusal):
                    report(path, refusal.message, hint: refusal.hint)
                    if refusal.isAboutNesting { nesting = refusal }
                }
                return APNsJSONDecoder()
            }
            let decoder: any Decoder
            switch definition.options {
            case .mapping(let options): decoder = MappingDecoder(options)
            case .cloudevents(let options):
                decoder = CloudEventsDecoder(inner(options.decoder, "decoder"), types: options.types)
            case .celery(let options):
                let inner = options.tasks.enumerated().map { inner($1.decoder, "tasks[\($0)].decoder") }
                decoder = CeleryDecoder(options, inner)
            case .library(let options): decoder = LibraryDecoder(options) { report($0, $1) }
            case .process(let options): decoder = ProcessDecoder(options: options)
            }
            if let nesting, !outer.isEmpty { return .failure(nesting) }
            return .success(decoder)
        }
    }

    /// The error for an unknown name.
    private static func unknown(_ name: String, among names: [String]) -> Refusal {
        if DecoderFormat.removed.contains(name) {
            return Refusal(message: "the format \"\(name)\" was removed; \(DecoderFormat.replacement)")
        }
        return Refusal(
            message: "\"\(name)\" is not one of \(names.joined(separator: ", "))",
            hint: Suggestion.closest(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? "")
    }
}
