public import Core
import Settings

/// What a configuration says to one decoder: values that the schema has checked, and the decoders within it.
///
/// An option that has no value is `nil`: it was left out and is optional, or it is wrong, which has been reported
/// already. A decoder is made all the same, so that every problem is told at once; it is thrown away then.
public struct DecoderOptions {
    /// What is wrong between the options, beyond what the schema says of each.
    package struct Problem: Equatable {
        /// Begins at the decoder's section; empty for the section itself.
        package let path: String
        package let message: String
    }

    let values: SettingValues
    /// Finds a decoder by its name; `nil` if there is none, or it would contain itself.
    private let find: (String) -> Result<any Decoder, DecoderSet.Refusal>
    private(set) var problems: [Problem] = []
    /// Why a decoder within this one cannot lie where this one lies.
    private(set) var nesting: DecoderSet.Refusal?

    init(values: SettingValues, find: @escaping (String) -> Result<any Decoder, DecoderSet.Refusal>) {
        self.values = values
        self.find = find
    }

    /// Reports what is wrong with an option or between several. `check` says it with the option's place in the file,
    /// and no worker starts with it.
    ///
    /// - Parameters:
    ///   - path: the option; "" for the section as a whole. An option that the file does not give is told with the
    ///     section's place.
    ///   - message: what is wrong and what would be right.
    public mutating func report(_ path: String, _ message: String) {
        problems.append(Problem(path: path, message: message))
    }

    /// The value of a text or a choice.
    public func text(_ path: String) -> String? { values.text(path) }

    /// The value of an integer.
    public func integer(_ path: String) -> Int? { values.integer(path) }

    /// The value of a boolean; `false` where there is none.
    public func boolean(_ path: String) -> Bool { values.boolean(path) ?? false }

    /// The values of a list of texts.
    public func texts(_ path: String) -> [String]? { values.texts(path) }

    /// The values of a list of integers.
    public func integers(_ path: String) -> [Int]? { values.integers(path) }

    /// The decoder that a text names: a format's name, or one in `decoders`. What is wrong with the name is reported.
    public mutating func decoder(_ path: String) -> any Decoder {
        guard let name = text(path) else { return APNsJSONDecoder() }
        switch find(name) {
        case .success(let decoder) where decoder is ProcessDecoder:
            report(path, "\"\(name)\" is a process, which answers later: it cannot lie within another decoder")
            return APNsJSONDecoder()
        case .success(let decoder): return decoder
        case .failure(let refusal):
            // What the environment filled in is not to be guessed from the name that it is like.
            report(path, refusal.message + (values.written(path) == nil ? refusal.hint : ""))
            if refusal.isAboutNesting { nesting = refusal }
            return APNsJSONDecoder()
        }
    }

    /// The source of a field that a setting describes; `nil` where it says nothing.
    mutating func source(_ path: String) -> FieldSource? {
        guard let text = text(path) else { return nil }
        do throws(FieldSource.Failure) {
            return try FieldSource(text)
        } catch {
            report(path, error.message)
            return nil
        }
    }
}
