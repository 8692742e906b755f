package import Core
import Settings

/// The decoders of one configuration, by the names that queues use: one for each format with its defaults, and those
/// that `decoders` describes.
package struct DecoderSet: Sendable {
    /// Why a name stands for no decoder.
    struct Refusal: Error {
        let message: String
        /// The name that was probably meant, to be added to the message; it tells what the wrong name looks like.
        var hint = ""
        /// Whether it is because of the decoders around it, who have to say so: alone it would do.
        var isAboutNesting = false
    }

    /// What is wrong with one of the definitions.
    package struct Problem {
        /// Its place among them.
        package let definition: Int
        package let problem: DecoderOptions.Problem
    }

    /// So many decoders may lie within each other.
    package static let maximumNesting = 4

    private var decoders: [String: Result<any Decoder, Refusal>] = [:]
    private let names: [String]
    private let formats: [DecoderFormat]

    /// The formats with their defaults.
    package init(_ registry: DecoderRegistry) {
        self.init([], registry)
    }

    /// - Parameter definitions: those of a configuration that was found right.
    package init(_ definitions: [DecoderDefinition], _ registry: DecoderRegistry) {
        // The configuration's rules have made all decoders once. A shared library may say something else now; what its
        // decoder does then is its own matter.
        var problems: [Problem] = []
        self.init(definitions, formats: registry.formats, problems: &problems)
    }

    package init(_ definitions: [DecoderDefinition], formats: [DecoderFormat], problems: inout [Problem]) {
        let maker = Maker(definitions: definitions, formats: formats)
        names = maker.names
        self.formats = formats
        for name in names { decoders[name] = maker.find(name, within: []) }
        problems += maker.problems.sorted { $0.definition < $1.definition }
    }

    /// - Returns: `nil` unless a decoder has this name, and needs no options that it has not.
    package subscript(name: String) -> (any Decoder)? {
        if case .success(let decoder) = decoders[name] { decoder } else { nil }
    }

    /// The semantic version of a decoder's format; `nil` of one that has none.
    package func version(of decoder: any Decoder) -> String? {
        formats.first { $0.name == decoder.name }?.version
    }

    /// What to say of a name; `nil` where it stands for a decoder.
    ///
    /// - Parameter hints: whether to add the name that was probably meant.
    package func complaint(about name: String, hints: Bool = true) -> String? {
        let refusal: Refusal
        switch decoders[name] {
        case .success: return nil
        case .failure(let known): refusal = known
        case nil: refusal = Self.unknown(name, among: names)
        }
        return refusal.message + (hints ? refusal.hint : "")
    }

    /// Makes decoders, those within them first.
    private final class Maker {
        private let definitions: [DecoderDefinition]
        private let formats: [DecoderFormat]
        private(set) var problems: [Problem] = []

        init(definitions: [DecoderDefinition], formats: [DecoderFormat]) {
            self.definitions = definitions
            self.formats = formats
        }

        var names: [String] {
            formats.map(\.name) + definitions.map(\.name).filter { name in !formats.contains { $0.name == name } }
        }

        /// - Parameter outer: the decoders that it would lie in; its own problems count where there are none.
        func find(_ name: String, within outer: [String]) -> Result<any Decoder, Refusal> {
            guard !outer.contains(name) else {
                return .failure(Refusal(message: "\"\(name)\" would lie within itself", isAboutNesting: true))
            }
            guard outer.count < DecoderSet.maximumNesting else {
                let limit = DecoderSet.maximumNesting
                return .failure(
                    Refusal(message: "more than \(limit) decoders would lie within each other", isAboutNesting: true))
            }
            let place = definitions.firstIndex { $0.name == name }
            let wanted = place.map { definitions[$0].format } ?? name
            guard let format = formats.first(where: { $0.name == wanted }) else {
                return .failure(DecoderSet.unknown(wanted, among: names))
            }
            let values = place.map { definitions[$0].options } ?? format.defaults
            var options = DecoderOptions(values: values) { self.find($0, within: outer + [name]) }
            let decoder = format.make(&options)
            if let nesting = options.nesting, !outer.isEmpty { return .failure(nesting) }
            if let place {
                if outer.isEmpty { problems += options.problems.map { Problem(definition: place, problem: $0) } }
            } else if let first = options.problems.first {
                return .failure(Refusal(message: "\"\(name)\" has to be described in decoders: \(first.message)"))
            }
            return .success(decoder)
        }
    }

    /// What to say of a name that nothing has.
    private static func unknown(_ name: String, among names: [String]) -> Refusal {
        Refusal(
            message: "\"\(name)\" is not one of \(names.joined(separator: ", "))",
            hint: Suggestion.closest(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? "")
    }
}
