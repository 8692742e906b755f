import Glibc

/// Colours for terminals that support them.
package enum Terminal {
    /// By its SGR parameter. Source: ECMA-48, section 8.3.117.
    package enum Colour: Int, Sendable {
        case red = 31
        case yellow = 33
    }

    /// Whether output to this descriptor may have colours. `NO_COLOR` (no-color.org) and terminals without colours turn
    /// them off.
    package static func hasColours(_ descriptor: Int32) -> Bool {
        variable("NO_COLOR") == nil && canRedraw(descriptor)
    }

    /// Whether the descriptor is a terminal that obeys control sequences.
    package static func canRedraw(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1, let kind = variable("TERM") else { return false }
        return kind != "dumb"
    }

    package static func painted(_ text: String, _ colour: Colour) -> String {
        "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// `nil` if it is unset or empty.
    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name), let text = unsafe String(validatingCString: value), !text.isEmpty else {
            return nil
        }
        return text
    }
}
