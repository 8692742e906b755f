/// C0, DEL and C1: a terminal acts on them, and a text of a peer's may hold any of them.
package enum ControlCharacters {
    static func contains(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    /// The text with `\n`, `\r`, `\t` or `\u001b` in place of each control character.
    ///
    /// - Parameters:
    ///   - quotes: whether quotes and backslashes are escaped as well, so that the text can stand in quotes.
    ///   - keepsLines: whether line feeds stay what they are.
    package static func escaped(_ text: String, quotes: Bool = false, keepsLines: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where quotes: result += "\\\""
            case "\\" where quotes: result += "\\\\"
            case "\n" where keepsLines: result += "\n"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where contains(scalar):
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
