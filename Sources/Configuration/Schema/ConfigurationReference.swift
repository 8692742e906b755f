/// The schema as text for users: `harebell config` and the page in the documentation.
extension Setting {
    package var typeText: String { kind.typeName + (isOptional ? " or null" : "") }

    /// `required` if the key has no default.
    package var defaultText: String {
        defaultValue == "{}" ? "its keys' defaults" : defaultValue ?? "required"
    }

    /// Empty if every value is allowed.
    package var rangeText: String {
        switch kind {
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
}

extension ClosedRange {
    fileprivate var words: String {
        "\(lowerBound) to \(upperBound)"
    }
}
