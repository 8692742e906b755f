import Core
import Glibc
import Runtime

/// A line of text, partly coloured on a terminal.
struct Painted {
    private var parts: [(text: String, colour: Terminal.Colour?)]

    init(_ text: String, _ colour: Terminal.Colour? = nil) {
        parts = [(text, colour)]
    }

    static func + (left: Painted, right: Painted) -> Painted {
        var sum = left
        sum.parts += right.parts
        return sum
    }

    static func + (left: Painted, right: String) -> Painted {
        left + Painted(right)
    }

    /// Only our own colours are printed. Control characters from a peer are escaped.
    func text(inColour: Bool) -> String {
        parts.map { text, colour in
            let text = ControlCharacters.escaped(text)
            guard inColour, let colour else { return text }
            return Terminal.painted(text, colour)
        }.joined()
    }
}

/// Writes a line to standard output, with colours if it is a terminal.
func printLine(_ text: Painted) {
    printLine(raw: text.text(inColour: Terminal.hasColours(STDOUT_FILENO)))
}
