public import Settings

/// The options of a decoder.
///
/// A key is 1 to 64 lower-case letters, digits, hyphens and underscores. As everywhere in the configuration, `${NAME}`
/// in a value is what an environment variable says.
extension Setting {
    /// What an option is where a configuration does not give it.
    public enum Default<Value: Sendable>: Sendable {
        /// It has to be given.
        case required
        /// Nothing; `null` says the same.
        case none
        /// This value.
        case value(Value)

        fileprivate func yaml(_ text: (Value) -> String) -> String? {
            switch self {
            case .required: nil
            case .none: "null"
            case .value(let value): text(value)
            }
        }
    }

    /// - Parameters:
    ///   - bytes: how long it may be, in bytes of UTF-8.
    ///   - summary: one sentence, for the reference.
    public static func text(
        _ key: String, bytes: ClosedRange<Int> = 1...1024, default value: Default<String> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .text(bytes: bytes), default: value.yaml(quote), summary)
    }

    /// - Parameters:
    ///   - names: the texts that it may be.
    ///   - summary: one sentence, for the reference.
    public static func choice(
        _ key: String, _ names: [String], default value: Default<String> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .choice(names), default: value.yaml(quote), summary)
    }

    /// - Parameters:
    ///   - range: the values that it may have.
    ///   - summary: one sentence, for the reference.
    public static func integer(
        _ key: String, _ range: ClosedRange<Int>, default value: Default<Int> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .integer(range), default: value.yaml(String.init), summary)
    }

    /// - Parameter summary: one sentence, for the reference.
    public static func boolean(
        _ key: String, default value: Default<Bool> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .boolean, default: value.yaml(String.init), summary)
    }

    /// - Parameters:
    ///   - bytes: how long each may be, in bytes of UTF-8.
    ///   - count: how many there may be.
    ///   - summary: one sentence, for the reference.
    public static func texts(
        _ key: String, bytes: ClosedRange<Int> = 1...1024, count: ClosedRange<Int>,
        default value: Default<[String]> = .required, _ summary: String
    ) -> Setting {
        let yaml = value.yaml { "[\($0.map(quote).joined(separator: ", "))]" }
        return Setting(key, .texts(bytes: bytes, count: count), default: yaml, summary)
    }

    /// - Parameters:
    ///   - range: the values that each may have.
    ///   - count: how many there may be.
    ///   - summary: one sentence, for the reference.
    public static func integers(
        _ key: String, _ range: ClosedRange<Int>, count: ClosedRange<Int>,
        default value: Default<[Int]> = .required, _ summary: String
    ) -> Setting {
        let yaml = value.yaml { "[\($0.map(String.init).joined(separator: ", "))]" }
        return Setting(key, .integers(range, count: count), default: yaml, summary)
    }

    /// A text in YAML that is that text and nothing else: JSON's strings are YAML's, and no variable is meant.
    private static func quote(_ text: String) -> String {
        var json: [UInt8] = []
        json.appendJSON(string: ArraySlice(text.replacing("${", with: "$${").utf8))
        return String(decoding: json, as: UTF8.self)
    }
}
