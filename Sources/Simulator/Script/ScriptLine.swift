/// A word of a script with its column.
struct ScriptWord: Equatable {
    let text: String
    /// From 1, in characters.
    let column: Int
    let isQuoted: Bool

    func isSymbol(_ symbol: String) -> Bool {
        !isQuoted && text == symbol
    }
}

/// The words of one line, without its comment.
///
/// `,` and `:` are separate words, text in double quotes is one word, and `#` starts a comment.
struct ScriptLine {
    private(set) var words: [ScriptWord] = []
    /// The column of an unclosed quotation.
    private(set) var unfinishedQuote: Int?
    /// The column after the last character.
    let end: Int

    init(_ line: some StringProtocol) {
        let characters = Array(line)
        end = characters.count + 1
        var position = 0
        while position < characters.count {
            switch characters[position] {
            case " ", "\t", "\r":
                position += 1
            case "#":
                return
            case ",", ":":
                words.append(ScriptWord(text: String(characters[position]), column: position + 1, isQuoted: false))
                position += 1
            case "\"":
                guard let close = characters[(position + 1)...].firstIndex(of: "\"") else {
                    unfinishedQuote = position + 1
                    return
                }
                words.append(
                    ScriptWord(text: String(characters[position + 1..<close]), column: position + 1, isQuoted: true))
                position = close + 1
            default:
                let start = position
                while position < characters.count, !" \t\r,:#\"".contains(characters[position]) { position += 1 }
                words.append(ScriptWord(text: String(characters[start..<position]), column: start + 1, isQuoted: false))
            }
        }
    }
}

/// An error in one word of a script.
struct ScriptComplaint: Error {
    let column: Int
    let text: String

    init(_ column: Int, _ text: String) {
        self.column = column
        self.text = text
    }

    /// `known` lists the valid words, for a suggestion.
    init(_ word: ScriptWord, _ text: String, known: [String]) {
        column = word.column
        if let guess = Self.nearest(to: word.text, in: known) {
            self.text = "\(text); did you mean \"\(guess)\"?"
        } else {
            self.text = text
        }
    }

    private static func nearest(to word: String, in known: [String]) -> String? {
        let distances = known.map { ($0, distance(Array($0.lowercased()), Array(word.lowercased()))) }
        guard let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(1, (word.count + 1) / 3) else { return nil }
        return best.0
    }

    /// The Levenshtein distance.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
