/// One row of the configuration's schema: a key with everything that is said about it; an option of a decoder.
///
/// Parsing, `config --reference` and the documentation are all made from a ``Schema``.
public struct Setting: Sendable {
    /// The type of a value.
    package enum Kind: Sendable, Equatable {
        /// A mapping of further keys.
        case section
        /// A list of mappings, `count` of them.
        case sections(count: ClosedRange<Int>)
        /// Text of so many bytes of UTF-8.
        case text(bytes: ClosedRange<Int>)
        /// The path of a file; a relative one starts at the configuration file's folder.
        case file
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
        case boolean
        case choice([String])
        /// A list of `count` integers.
        case integers(ClosedRange<Int>, count: ClosedRange<Int>)
        /// A list of `count` texts of so many bytes.
        case texts(bytes: ClosedRange<Int>, count: ClosedRange<Int>)
    }

    /// The key with those above it: `apns.connections.min`; `queues[].name` in each section of a list.
    package let path: String
    package let kind: Kind
    /// In YAML; `null` where the setting may be off; `nil` where it must be given.
    package let defaultValue: String?
    /// Whether `null` is a value of its own (off) instead of a mistake.
    package let isOptional: Bool
    /// Whether no message may show the value.
    package let isSecret: Bool
    /// One sentence.
    package let summary: String

    package init(
        _ path: String, _ kind: Kind, default defaultValue: String?, optional: Bool = false, secret: Bool = false,
        _ summary: String
    ) {
        self.path = path
        self.kind = kind
        self.defaultValue = defaultValue
        isOptional = optional || defaultValue == "null"
        isSecret = secret
        self.summary = summary
    }

    /// The last part of the path.
    package var key: String {
        path.split(separator: ".").last.map(String.init) ?? path
    }

    /// The path of the section that holds this key; empty at the top.
    package var parent: String {
        path.contains(".") ? String(path.prefix(path.count - key.count - 1)) : ""
    }

    /// The same key within a section.
    package func below(_ section: String) -> Setting {
        Setting("\(section).\(path)", kind, default: defaultValue, optional: isOptional, secret: isSecret, summary)
    }

    /// The path of the sections in a list or mapping of this name, as parents of their keys.
    var childPrefix: String {
        if case .sections = kind { path + "[]" } else { path }
    }
}
