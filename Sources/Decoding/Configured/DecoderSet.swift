package import Core

/// The decoders of one configuration by name: each format with its defaults, and the entries of `decoders`.
package struct DecoderSet: Sendable {
    /// Why a name cannot be resolved to a decoder.
    struct Refusal: Error {
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
        /// The option; empty for the definition's whole section.
        package let path: String
        package let message: String
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
        DecoderFormat.all.first { $0.name == decoder.name }?.version
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
            let formats = DecoderFormat.all.map(\.name)
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
            let place = definitions.firstIndex { $0.name == name }
            let wanted = place.map { definitions[$0].format } ?? name
            guard let format = DecoderFormat.all.first(where: { $0.name == wanted }) else {
                return .failure(DecoderSet.unknown(wanted, among: names))
            }
            let values = place.map { definitions[$0].options } ?? format.defaults
            var options = DecoderOptions(values: values) { self.find($0, within: outer + [name]) }
            let decoder = format.make(&options)
            if let nesting = options.nesting, !outer.isEmpty { return .failure(nesting) }
            if let place {
                if outer.isEmpty {
                    problems += options.problems.map { Problem(definition: place, path: $0.path, message: $0.message) }
                }
            } else if let first = options.problems.first {
                return .failure(Refusal(message: "\"\(name)\" requires an entry in decoders: \(first.message)"))
            }
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
