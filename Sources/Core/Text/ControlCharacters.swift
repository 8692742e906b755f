/// Characters that a terminal interprets or hides. Text from a peer that contains them can be displayed as something
/// else.
///
/// - C0, DEL and C1: a line feed adds a row to a table, an escape sequence controls the terminal.
/// - Line and paragraph separators.
/// - Format characters, such as those that reverse the direction of a line (U+202E, U+2066 …), and other invisible
///   characters: names that differ only in them look the same. The variation selectors of emoji are kept.
package enum ControlCharacters {
    private static let variationSelectors: ClosedRange<UInt32> = 0xFE00...0xFE0F

    package static func contains(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        if (0x7F...0x9F).contains(scalar.value) { return true }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .format, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isDefaultIgnorableCodePoint && !variationSelectors.contains(scalar.value)
        }
    }

    /// The text on one line, with `\n`, `\r`, `\t`, `\u001b` or `\u202e` in place of each such character.
    ///
    /// - Parameter quotes: whether to escape quotes and backslashes as well, for use within quotes, including those of
    ///   JSON.
    package static func escaped(_ text: String, quotes: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where quotes: result += "\\\""
            case "\\" where quotes: result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where contains(scalar): append(scalar, to: &result)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Equivalent JSON on one line: such characters are escaped within strings and become spaces between values.
    package static func escaped(json: String) -> String {
        // JSON strings cannot contain these, RFC 8259, section 7.
        let scalars = json.unicodeScalars.map { ["\n", "\r", "\t"].contains($0) ? " " : $0 }
        return escaped(String(String.UnicodeScalarView(scalars)))
    }

    /// Appends `\uXXXX`, as in JSON; two of them beyond the basic plane.
    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        for unit in Character(scalar).utf16 {
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
