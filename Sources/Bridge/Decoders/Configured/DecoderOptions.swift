import Core

/// What a configuration says to one decoder: values that the schema has checked, and the decoders within it.
struct DecoderOptions {
    /// What is wrong between the options, beyond what the schema says of each.
    struct Problem: Equatable {
        /// Begins at the decoder's section; empty for the section itself.
        let path: String
        let message: String
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

    mutating func report(_ path: String, _ message: String) {
        problems.append(Problem(path: path, message: message))
    }

    func text(_ path: String) -> String? { values.text(path) }

    func boolean(_ path: String) -> Bool { values.boolean(path) ?? false }

    /// The decoder that a setting names.
    mutating func decoder(_ path: String) -> any Decoder {
        guard let name = text(path) else { return APNsJSONDecoder() }
        switch find(name) {
        case .success(let decoder): return decoder
        case .failure(let refusal):
            report(path, refusal.message)
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
