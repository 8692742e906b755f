/// What a terminal acts on or hides: a text from a peer may hold any of it, and then looks like something that it is
/// not.
///
/// - C0, DEL and C1: a line feed adds a row to a table, an escape sequence controls the terminal.
/// - Line and paragraph separators.
/// - Format characters, such as those that turn the direction of a line round (U+202E, U+2066 …), and what else shows
///   nothing: two names that differ in it look the same. The variation selectors of emoji stay.
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

    /// One line: the text with `\n`, `\r`, `\t`, `\u001b` or `\u202e` in place of each such character.
    ///
    /// - Parameter quotes: whether quotes and backslashes are escaped as well, so that the text can stand in quotes,
    ///   those of JSON included.
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

    /// JSON that says the same on one line: within strings such characters are escaped, between values they are white
    /// space.
    package static func escaped(json: String) -> String {
        var result = ""
        for scalar in json.unicodeScalars {
            switch scalar {
            // Strings have none of these, RFC 8259, section 7.
            case "\n", "\r", "\t": result += " "
            case _ where contains(scalar): append(scalar, to: &result)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// `\uXXXX`, two of them for what is not in the basic plane: so JSON has it.
    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        for unit in Character(scalar).utf16 {
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
