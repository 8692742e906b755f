/// One row of the configuration's schema: a key with its type, default and summary. Decoder options are settings as
/// well.
///
/// Parsing, `harebell config` and the documentation are all derived from ``Schema``.
package struct Setting: Sendable {
    package indirect enum Kind: Sendable, Equatable {
        /// A mapping of further keys.
        case section
        /// Text with a length in bytes of UTF-8.
        case text(bytes: ClosedRange<Int>)
        /// The path of a file, relative to the configuration file's folder.
        case file
        case integer(ClosedRange<Int>)
        case number(ClosedRange<Double>)
        case boolean
        case choice([String])
        /// `count` elements of one kind. Their path is that of the list with `[]`, and they have no default.
        case list(of: Kind, count: ClosedRange<Int>)
    }

    /// The full path of the key: `apns.connections.min`; `queues[].name` in each section of a list.
    package let path: String
    package let kind: Kind
    /// In YAML; `null` if the setting can be off; `nil` if it is required.
    package let defaultValue: String?
    /// Whether `null` is valid and turns the setting off.
    package let isOptional: Bool
    /// One sentence.
    package let summary: String

    package init(
        _ path: String, _ kind: Kind, default defaultValue: String?, optional: Bool = false,
        _ summary: String
    ) {
        self.path = path
        self.kind = kind
        self.defaultValue = defaultValue
        isOptional = optional || defaultValue == "null"
        self.summary = summary
    }

    package var key: String {
        path.split(separator: ".").last.map(String.init) ?? path
    }

    /// The path of the section that contains this key; empty at the top level.
    package var parent: String {
        path.contains(".") ? String(path.prefix(path.count - key.count - 1)) : ""
    }

    package func below(_ section: String) -> Setting {
        Setting("\(section).\(path)", kind, default: defaultValue, optional: isOptional, summary)
    }
}
