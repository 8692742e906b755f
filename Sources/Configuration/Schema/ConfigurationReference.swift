/// The schema as text for users: `config --reference` and the page in the documentation.
package struct ConfigurationReference {
    /// One row of the reference.
    package struct Entry: Sendable {
        package let path: String
        package let type: String
        /// `required` if the key has no default.
        package let defaultValue: String
        /// Empty if every value is allowed.
        package let range: String
        package let summary: String
    }

    package let entries: [Entry]

    package init(_ schema: Schema) {
        entries = schema.settings.map { setting in
            Entry(
                path: setting.path, type: setting.kind.typeName + (setting.isOptional ? " or null" : ""),
                defaultValue: Self.defaultValue(of: setting), range: setting.kind.rangeText, summary: setting.summary)
        }
    }

    /// Each key with its type, default and range on one line and its summary on the next.
    package var text: String {
        entries.map { entry in
            let range = entry.range.isEmpty ? "" : ", \(entry.range)"
            return "\(entry.path)\n    \(entry.type), default \(entry.defaultValue)\(range)\n    \(entry.summary)\n"
        }.joined().replacing(", default required", with: ", required")
    }

    private static func defaultValue(of setting: Setting) -> String {
        guard let value = setting.defaultValue else { return "required" }
        return value == "{}" ? "its keys' defaults" : value
    }
}

extension Setting.Kind {
    fileprivate var typeName: String {
        switch self {
        case .section: "section"
        case .sections: "list of sections"
        case .text: "text"
        case .file: "file"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "true or false"
        case .choice: "choice"
        case .integers: "list of integers"
        case .texts: "list of texts"
        }
    }

    fileprivate var rangeText: String {
        switch self {
        case .section, .file, .boolean: ""
        case .sections(let count): "\(count.words) sections"
        case .text(let bytes): "\(bytes.words) bytes"
        case .integer(let range): range.words
        case .number(let range): range.words
        case .choice(let names): names.joined(separator: ", ")
        case .integers(let range, let count): "\(count.words) of \(range.words)"
        case .texts(let bytes, let count): "\(count.words) of \(bytes.words) bytes"
        }
    }
}

extension ClosedRange {
    fileprivate var words: String {
        "\(lowerBound) to \(upperBound)"
    }
}
