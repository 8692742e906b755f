public import Settings

/// The options of a decoder.
///
/// A key is 1 to 64 lower-case letters, digits, hyphens and underscores. As in the rest of the configuration,
/// `${NAME}` in a value is replaced by an environment variable.
extension Setting {
    /// The value of an option that is not set.
    public enum Default<Value: Sendable>: Sendable {
        /// The option is required.
        case required
        /// No value; `null` has the same effect.
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
    ///   - bytes: the length, in bytes of UTF-8.
    ///   - summary: one sentence, for the reference.
    public static func text(
        _ key: String, bytes: ClosedRange<Int> = 1...1024, default value: Default<String> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .text(bytes: bytes), default: value.yaml(quote), summary)
    }

    /// - Parameters:
    ///   - names: the allowed values.
    ///   - summary: one sentence, for the reference.
    public static func choice(
        _ key: String, _ names: [String], default value: Default<String> = .required, _ summary: String
    ) -> Setting {
        Setting(key, .choice(names), default: value.yaml(quote), summary)
    }

    /// - Parameters:
    ///   - range: the allowed values.
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
    ///   - bytes: the length of each, in bytes of UTF-8.
    ///   - count: the number of elements.
    ///   - summary: one sentence, for the reference.
    public static func texts(
        _ key: String, bytes: ClosedRange<Int> = 1...1024, count: ClosedRange<Int>,
        default value: Default<[String]> = .required, _ summary: String
    ) -> Setting {
        let yaml = value.yaml { "[\($0.map(quote).joined(separator: ", "))]" }
        return Setting(key, .texts(bytes: bytes, count: count), default: yaml, summary)
    }

    /// - Parameters:
    ///   - range: the allowed values of each.
    ///   - count: the number of elements.
    ///   - summary: one sentence, for the reference.
    public static func integers(
        _ key: String, _ range: ClosedRange<Int>, count: ClosedRange<Int>,
        default value: Default<[Int]> = .required, _ summary: String
    ) -> Setting {
        let yaml = value.yaml { "[\($0.map(String.init).joined(separator: ", "))]" }
        return Setting(key, .integers(range, count: count), default: yaml, summary)
    }

    /// Quotes a text for YAML, without variable substitution. JSON strings are valid YAML.
    private static func quote(_ text: String) -> String {
        var json: [UInt8] = []
        json.appendJSON(string: ArraySlice(text.replacing("${", with: "$${").utf8))
        return String(decoding: json, as: UTF8.self)
    }
}
