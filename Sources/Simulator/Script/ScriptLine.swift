import Core

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
                words.append(ScriptWord(text: String(characters[position]), column: position + 1))
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
                words.append(ScriptWord(text: String(characters[start..<position]), column: start + 1))
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

    /// The word is not one of the `known` ones.
    init(_ word: String, at column: Int, _ text: String, known: [String]) {
        self.column = column
        let question = Suggestion.question(Suggestion.closest(to: word, among: known))
        self.text = "\"\(word)\" \(text)" + (question.map { "; \($0)" } ?? "")
    }
}

/// A word of a script, or the value of an option `name=value`.
struct ScriptWord {
    let text: String
    /// From 1, in characters.
    let column: Int
    var isQuoted = false
    /// Of the option.
    var name = ""

    func isSymbol(_ symbol: String) -> Bool {
        !isQuoted && text == symbol
    }

    func complaint(_ text: String) -> ScriptComplaint {
        ScriptComplaint(column, text)
    }

    /// - Parameter what: for the error, as in "is not a condition".
    func unknown(_ what: String, known: [String]) -> ScriptComplaint {
        ScriptComplaint(text, at: column, what, known: known)
    }

    /// From 1.
    func count() throws(ScriptComplaint) -> Int {
        guard let number = Int(text), number > 0 else { throw complaint("\"\(text)\" is not a number from 1") }
        return number
    }

    func number(from least: UInt32 = 0, upTo limit: UInt32 = .max) throws(ScriptComplaint) -> UInt32 {
        guard let number = UInt32(text), number >= least, number <= limit else {
            throw complaint("\(name) is a number from \(least) to \(limit), not \"\(text)\"")
        }
        return number
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        of type: Choice.Type = Choice.self
    ) throws(ScriptComplaint) -> Choice {
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw complaint("\(name) is one of \(known), not \"\(text)\"")
        }
        return choice
    }

    func duration() throws(ScriptComplaint) -> Duration {
        try Self.duration(text[...], column)
    }

    static func duration(_ text: Substring, _ column: Int) throws(ScriptComplaint) -> Duration {
        guard let duration = duration(text) else {
            throw ScriptComplaint(
                column, "\"\(text)\" is not a duration: expected a whole number with us, ms, s, m or h")
        }
        return duration
    }

    static func duration(_ text: Substring) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number <= 1_000_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "us": return .microseconds(number)
        case "ms": return .milliseconds(number)
        case "s": return .seconds(number)
        case "m": return .seconds(number * 60)
        case "h": return .seconds(number * 3600)
        default: return nil
        }
    }

    /// A key ID or a team ID.
    func identifier(_ what: String) throws(ScriptComplaint) -> String {
        guard text.utf8.count == 10 else { throw complaint("a \(what) ID has ten characters") }
        return text
    }

    func bundleID() throws(ScriptComplaint) -> String {
        guard Array(text.utf8)[...].isBundleID else { throw complaint("\"\(text)\" is not a bundle ID") }
        return text
    }
}

/// The words of a line, consumed in order.
struct ScriptWords {
    private let words: [ScriptWord]
    private let end: Int
    private var position = 0

    init(_ line: ScriptLine) {
        words = line.words
        end = line.end
    }

    var peek: ScriptWord? { position < words.count ? words[position] : nil }

    /// The column of the next word, or of the end of the line.
    var column: Int { peek?.column ?? end }

    /// Consumes the next word if it is this one.
    mutating func take(_ text: String) -> Bool {
        guard let word = peek, word.isSymbol(text) else { return false }
        position += 1
        return true
    }

    /// - Parameter name: for errors about the value.
    mutating func next(_ wanted: String, name: String = "") throws(ScriptComplaint) -> ScriptWord {
        guard var word = peek else { throw ScriptComplaint(end, "here the line needs \(wanted)") }
        guard !word.isSymbol(","), !word.isSymbol(":") else {
            throw word.complaint("here the line needs \(wanted), not \"\(word.text)\"")
        }
        position += 1
        word.name = name
        return word
    }

    mutating func expect(_ text: String, _ place: String) throws(ScriptComplaint) {
        guard !take(text) else { return }
        throw ScriptComplaint(column, "here the line needs \"\(text)\", \(place)")
    }

    mutating func expectEnd() throws(ScriptComplaint) {
        if let word = peek { throw word.complaint("expected the end of the line before \"\(word.text)\"") }
    }

    mutating func duration(_ wanted: String = "how long, as in 10s") throws(ScriptComplaint) -> Duration {
        try next(wanted).duration()
    }

    /// Whether the word after the next one is a duration.
    var announcesDuration: Bool {
        position + 1 < words.count && ScriptWord.duration(words[position + 1].text[...]) != nil
    }

    /// Whether a word without `=` is next.
    var hasWord: Bool {
        peek.map { !$0.isSymbol(",") && ($0.isQuoted || !$0.text.contains("=")) } ?? false
    }

    /// Reads options `name=value` until a comma, a colon or the end of the line.
    mutating func options(
        _ known: [String], _ read: (ScriptWord) throws(ScriptComplaint) -> Void
    ) throws(ScriptComplaint) {
        while let word = peek, !word.isSymbol(","), !word.isSymbol(":") {
            guard let equals = word.text.firstIndex(of: "="), !word.isQuoted else {
                throw word.complaint("here the line needs name=value, a comma or its end, not \"\(word.text)\"")
            }
            position += 1
            let name = String(word.text[..<equals])
            guard known.contains(name) else {
                throw ScriptComplaint(name, at: word.column, "is not known here", known: known)
            }
            let value = String(word.text[word.text.index(after: equals)...])
            try read(ScriptWord(text: value, column: word.column, name: name))
        }
    }
}
