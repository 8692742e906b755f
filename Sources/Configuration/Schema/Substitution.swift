import Core

/// `${NAME}` in a value is replaced by an environment variable, `${NAME:-default}` by the default if the variable is
/// not set or empty (as in a shell). `$${` is a plain `${`.
package enum Substitution {
    private static let plain = "write \"$${\" for a plain \"${\""

    static func expand(_ text: String, environment: (String) -> String?) throws(Complaint) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var result = ""
        var rest = Substring(text)
        // `$${`, `${` with what it contains, or `${` without an end.
        while let match = rest.firstMatch(of: #/\$\$\{|\$\{(?:([^}]*)\})?/#) {
            result += rest[..<match.range.lowerBound]
            rest = rest[match.range.upperBound...]
            guard match.0 != "$${" else {
                result += "${"
                continue
            }
            guard let inside = match.1 else { throw Complaint("\"${\" without \"}\"; \(plain)") }
            let separator = inside.firstRange(of: ":-")
            let name = inside[..<(separator?.lowerBound ?? inside.endIndex)]
            guard name.wholeMatch(of: #/[A-Za-z_][A-Za-z0-9_]*/#) != nil else {
                throw Complaint("expected an environment variable's name in \"${…}\"; \(plain)")
            }
            guard !inside.contains("${") else { throw Complaint("a default cannot contain \"${\"") }
            let value = environment(String(name))
            if let separator, value?.isEmpty ?? true {
                result += inside[separator.upperBound...]
            } else if let value {
                result += value
            } else {
                throw Complaint("the environment variable \(name) is not set")
            }
        }
        return result + rest
    }

    package static func isNeeded(in text: String) -> Bool {
        text.replacing("$${", with: "").contains("${")
    }
}
