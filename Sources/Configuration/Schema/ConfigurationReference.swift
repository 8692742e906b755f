/// The schema as text for users: `harebell config` and the page in the documentation.
extension Setting {
    package var typeText: String { kind.typeName + (isOptional ? " or null" : "") }

    /// `required` if the key has no default.
    package var defaultText: String {
        defaultValue == "{}" ? "its keys' defaults" : defaultValue ?? "required"
    }

    /// Empty if every value is allowed.
    package var rangeText: String { kind.rangeText }

    /// The key with its type, default and range on one line and its summary on the next.
    package var reference: [String] {
        let words = [typeText, defaultValue == nil ? "required" : "default \(defaultText)", rangeText]
        return [path, "    " + words.filter { !$0.isEmpty }.joined(separator: ", "), "    \(summary)", ""]
    }
}

extension Setting.Kind {
    var typeName: String {
        switch self {
        case .section: "section"
        case .text: "text"
        case .file: "file"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "true or false"
        case .choice: "choice"
        case .list(let kind, _): "list of \(kind.typeName)s"
        }
    }

    fileprivate var rangeText: String {
        switch self {
        case .section, .file, .boolean: ""
        case .text(let bytes): "\(bytes.words) bytes"
        case .integer(let range): range.words
        case .number(let range): range.words
        case .choice(let names): names.joined(separator: ", ")
        case .list(.section, let count): "\(count.words) sections"
        case .list(let kind, let count): "\(count.words) of \(kind.rangeText)"
        }
    }
}

extension ClosedRange {
    fileprivate var words: String {
        "\(lowerBound) to \(upperBound)"
    }
}
