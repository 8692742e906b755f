import Core
import Settings

/// The options of one decoder: values validated against the schema, and nested decoders.
///
/// An option without a value is `nil`: it is optional and not set, or it is invalid and already reported. A decoder is
/// created even then, so that all problems are reported together, and is discarded afterwards.
struct DecoderOptions {
    let values: SettingValues
    /// Finds a decoder by its name. Fails if there is none, or if it would contain itself.
    private let find: (String) -> Result<any Decoder, DecoderSet.Refusal>
    /// Conflicts between options, which the schema of the individual options does not detect. A path is relative to
    /// the decoder's section; empty for the section itself.
    private(set) var problems: [(path: String, message: String)] = []
    /// Why a decoder cannot be nested here.
    private(set) var nesting: DecoderSet.Refusal?

    init(values: SettingValues, find: @escaping (String) -> Result<any Decoder, DecoderSet.Refusal>) {
        self.values = values
        self.find = find
    }

    /// Reports an invalid option or a conflict between options. `check` shows it with the option's location in the
    /// file, and no worker starts.
    ///
    /// - Parameters:
    ///   - path: the option; "" for the entire section. An option that is not in the file is reported at the
    ///     section's location.
    ///   - message: what is wrong and what is expected.
    mutating func report(_ path: String, _ message: String) {
        problems.append((path, message))
    }

    /// The value of a text or choice option.
    func text(_ path: String) -> String? { values.text(path) }

    /// The decoder named by a text option: a format, or an entry of `decoders`. An invalid name is reported.
    mutating func decoder(_ path: String) -> any Decoder {
        guard let name = text(path) else { return APNsJSONDecoder() }
        switch find(name) {
        case .success(let decoder) where decoder is ProcessDecoder:
            report(path, "\"\(name)\" is a process, which is asynchronous: it cannot be part of another decoder")
            return APNsJSONDecoder()
        case .success(let decoder): return decoder
        case .failure(let refusal):
            // A value from the environment may be secret, so it gets no suggestion.
            report(path, refusal.message + (values.written(path) == nil ? refusal.hint : ""))
            if refusal.isAboutNesting { nesting = refusal }
            return APNsJSONDecoder()
        }
    }

    /// The source of a field that an option describes; `nil` if it is not set.
    mutating func source(_ path: String) -> FieldSource? {
        text(path).flatMap { source($0, of: path) }
    }

    /// The source that a text at a path describes; `nil` if it is invalid.
    mutating func source(_ text: String, of path: String) -> FieldSource? {
        do throws(FieldSource.Failure) {
            return try FieldSource(text)
        } catch {
            report(path, error.message)
            return nil
        }
    }
}
