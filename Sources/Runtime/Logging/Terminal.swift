import Glibc

/// Colours for people: where a terminal shows them, and nowhere else.
package enum Terminal {
    /// By its SGR parameter. Source: ECMA-48, section 8.3.117.
    package enum Colour: Int, Sendable {
        case red = 31
        case green = 32
        case yellow = 33
    }

    /// Whether what is written there may have colours. `NO_COLOR` turns them off (no-color.org), and so does a terminal
    /// without.
    package static func hasColours(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1, variable("NO_COLOR") == nil, let kind = variable("TERM") else { return false }
        return kind != "dumb"
    }

    package static func painted(_ text: String, _ colour: Colour) -> String {
        "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// `nil` where it is empty, too.
    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name), let text = unsafe String(validatingCString: value), !text.isEmpty else {
            return nil
        }
        return text
    }
}
