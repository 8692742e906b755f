import Core

extension Complaint {
    /// The word is not one of the `known` ones.
    ///
    /// - Parameter what: for the error, as in "is not a condition".
    init(unknown word: String, _ what: String, known: [String]) {
        let question = Suggestion.question(Suggestion.closest(to: word, among: known))
        self.init("\"\(word)\" \(what)" + (question.map { "; \($0)" } ?? ""))
    }
}

/// The value of an option or a setting.
struct ScriptValue {
    let name: String
    let text: String

    /// From 1.
    func count() throws(Complaint) -> Int {
        guard let number = Int(text), number > 0 else { throw Complaint("\"\(text)\" is not a number from 1") }
        return number
    }

    func number(from least: UInt32 = 0, upTo limit: UInt32 = .max) throws(Complaint) -> UInt32 {
        guard let number = UInt32(text), number >= least, number <= limit else {
            throw Complaint("\(name) is a number from \(least) to \(limit), not \"\(text)\"")
        }
        return number
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        of type: Choice.Type = Choice.self
    ) throws(Complaint) -> Choice {
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Complaint("\(name) is one of \(known), not \"\(text)\"")
        }
        return choice
    }

    func duration() throws(Complaint) -> Duration {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        if let number = Int64(digits), number <= 1_000_000_000 {
            switch text.dropFirst(digits.count) {
            case "us": return .microseconds(number)
            case "ms": return .milliseconds(number)
            case "s": return .seconds(number)
            case "m": return .seconds(number * 60)
            case "h": return .seconds(number * 3600)
            default: break
            }
        }
        throw Complaint("\"\(text)\" is not a duration: expected a whole number with us, ms, s, m or h")
    }

    /// A key ID or a team ID.
    func identifier() throws(Complaint) -> String {
        guard text.utf8.count == 10 else { throw Complaint("\"\(text)\" does not have ten characters") }
        return text
    }

    func bundleID() throws(Complaint) -> String {
        guard Array(text.utf8)[...].isBundleID else { throw Complaint("\"\(text)\" is not a bundle ID") }
        return text
    }
}

/// The words of one line, consumed in order.
///
/// `,` and `:` are separate words, text in double quotes is one word that keeps its first quote, and `#` starts a
/// comment.
struct ScriptWords {
    private var words: ArraySlice<String> = []

    init(_ line: some StringProtocol) throws(Complaint) {
        for match in Substring(line).matches(of: #/[,:]|"[^"]*"?|\#.*|[^ \t\r,:\#"]+/#) {
            let word = match.output
            if word.first == "#" { return }
            if word.first == "\"" {
                guard word.count > 1, word.last == "\"" else {
                    throw Complaint("the closing quote of \(word) is missing")
                }
                words.append(String(word.dropLast()))
            } else {
                words.append(String(word))
            }
        }
    }

    var isEmpty: Bool { words.isEmpty }

    /// Consumes the next word if it is this one.
    mutating func take(_ word: String) -> Bool {
        guard words.first == word else { return false }
        words.removeFirst()
        return true
    }

    mutating func next(_ wanted: String) throws(Complaint) -> String {
        guard let word = words.first, word != ",", word != ":" else {
            throw Complaint("the line needs \(wanted)" + (words.first.map { " before \"\($0)\"" } ?? ""))
        }
        words.removeFirst()
        return word
    }

    mutating func value(_ wanted: String, of name: String = "") throws(Complaint) -> ScriptValue {
        ScriptValue(name: name, text: try next(wanted))
    }

    mutating func duration() throws(Complaint) -> Duration {
        try value("a duration, as in 10s").duration()
    }

    mutating func expect(_ word: String, _ place: String) throws(Complaint) {
        guard take(word) else { throw Complaint("the line needs \"\(word)\", \(place)") }
    }

    func expectEnd() throws(Complaint) {
        if let word = words.first { throw Complaint("expected the end of the line before \"\(word)\"") }
    }

    /// Whether the word after the next one is a duration.
    var announcesDuration: Bool {
        words.dropFirst().first.map { (try? ScriptValue(name: "", text: $0).duration()) != nil } ?? false
    }

    /// Whether a word other than a comma or an option is next.
    var hasWord: Bool {
        words.first.map { $0 != "," && ($0.hasPrefix("\"") || !$0.contains("=")) } ?? false
    }

    /// Reads options `name=value` until a comma, a colon or the end of the line.
    mutating func options(
        _ known: [String], _ read: (ScriptValue) throws(Complaint) -> Void
    ) throws(Complaint) {
        while let word = words.first, word != ",", word != ":" {
            guard let equals = word.firstIndex(of: "="), !word.hasPrefix("\"") else {
                throw Complaint("the line needs name=value, a comma or its end, not \"\(word)\"")
            }
            words.removeFirst()
            let name = String(word[..<equals])
            guard known.contains(name) else { throw Complaint(unknown: name, "is not known here", known: known) }
            try read(ScriptValue(name: name, text: String(word[equals...].dropFirst())))
        }
    }
}
