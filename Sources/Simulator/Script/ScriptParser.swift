import Core

extension Script {
    /// Parses a script.
    ///
    /// - Parameters:
    ///   - file: the name for error messages and the base for relative paths in `set key … file=`.
    ///   - configuration: changed by the `set` lines.
    /// - Throws: `badScript` with all errors.
    package init(
        _ text: String, file: String, _ configuration: inout SimulatorConfiguration
    ) throws(SimulatorError) {
        var parser = ScriptParser(file: file, configuration: configuration)
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            parser.read(line, number: index + 1)
        }
        guard parser.complaints.isEmpty else {
            throw SimulatorError(.badScript, parser.complaints.joined(separator: "\n"))
        }
        self = parser.script
        configuration = parser.configuration
    }

    /// Parses a script file.
    package init(file: String, _ configuration: inout SimulatorConfiguration) throws(SimulatorError) {
        try self.init(TextFile.read(file), file: file, &configuration)
    }
}

/// Parses line by line and collects the errors.
struct ScriptParser {
    let file: String
    var configuration: SimulatorConfiguration
    var script = Script()
    private(set) var complaints: [String] = []

    init(file: String, configuration: SimulatorConfiguration) {
        self.file = file
        self.configuration = configuration
    }

    mutating func read(_ text: some StringProtocol, number: Int) {
        let line = ScriptLine(text)
        do throws(ScriptComplaint) {
            if let column = line.unfinishedQuote { throw ScriptComplaint(column, "the closing quote is missing") }
            var words = ScriptWords(line)
            guard let first = words.peek else { return }
            if first.isSymbol("set") {
                words.skip()
                try set(&words)
            } else {
                let trigger = try trigger(&words)
                try words.expect(":", "after the condition, before the action")
                script.rules.append(ScriptRule(trigger: trigger, actions: try actions(&words, trigger)))
            }
        } catch {
            complaints.append("\(file):\(number):\(error.column): \(error.text)")
        }
    }

    // MARK: Triggers

    private static let triggers = [
        "token", "topic", "type", "operation", "attempt", "chance", "every", "after", "first", "connect",
        "authenticated", "idle",
    ]

    private mutating func trigger(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptTrigger {
        guard let first = words.peek else { preconditionFailure("a line with a first word") }
        switch first.text {
        case "connect":
            words.skip()
            return .connected
        case "authenticated":
            words.skip()
            return .authenticated
        case "idle":
            words.skip()
            return .idle(try words.duration("how long, as in 10s"))
        case "after" where words.isDuration(at: 1):
            words.skip()
            return .age(try words.duration("how long, as in 10s"))
        default:
            var conditions = [try condition(&words)]
            while words.take(",") { conditions.append(try condition(&words)) }
            return .request(conditions)
        }
    }

    private mutating func condition(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptCondition {
        let word = try words.next("a condition")
        switch word.text {
        case "token":
            let pattern = try words.next("a pattern, as in dead*")
            let stray = pattern.text.first { $0 != "*" && !($0.isASCII && $0.isHexDigit) }
            if let stray {
                throw ScriptComplaint(
                    pattern.column,
                    "a device token cannot contain \"\(stray)\": expected hexadecimal digits, or * for any of them")
            }
            return .token(Glob(pattern.text.lowercased().utf8))
        case "topic":
            return .topic(Glob(try words.next("a pattern, as in com.example.*").text.utf8))
        case "type":
            let name = try words.next("a push type")
            let known = PushTypeRule.all.map(\.name.description)
            guard known.contains(name.text) else {
                throw ScriptComplaint(name, "\"\(name.text)\" is not a push type", known: known)
            }
            return .pushType(Array(name.text.utf8))
        case "operation":
            let name = try words.next("create, read, delete or list")
            guard let operation = ScriptOperation(rawValue: name.text) else {
                throw ScriptComplaint(
                    name, "\"\(name.text)\" is not an operation on channels",
                    known: ScriptOperation.allCases.map(\.rawValue))
            }
            return .operation(operation)
        case "attempt":
            return .attempt(try words.count("which attempt, from 1"))
        case "chance":
            return .chance(try words.percentage())
        default:
            guard let counting = ScriptCondition.Counting(rawValue: word.text) else {
                throw ScriptComplaint(word, "\"\(word.text)\" is not a condition", known: Self.triggers)
            }
            let number = try words.count("how many, as in 100 requests")
            if !words.take("requests") { try words.expect("request", "after the number") }
            var scope = counting == .after ? ScriptCondition.Scope.connection : .server
            if words.take("on") {
                let name = try words.next("connection or server")
                guard let named = ScriptCondition.Scope(rawValue: name.text) else {
                    throw ScriptComplaint(
                        name, "\"\(name.text)\" is not a scope", known: ScriptCondition.Scope.allCases.map(\.rawValue))
                }
                scope = named
            }
            script.counters += 1
            return .count(counting, of: number, scope, counter: script.counters - 1)
        }
    }
}

/// The words of a line, consumed in order.
struct ScriptWords {
    private let words: [ScriptWord]
    let end: Int
    private var position = 0

    init(_ line: ScriptLine) {
        words = line.words
        end = line.end
    }

    var peek: ScriptWord? { position < words.count ? words[position] : nil }

    mutating func skip() { position += 1 }

    /// Consumes the next word if it is this one.
    mutating func take(_ text: String) -> Bool {
        guard let word = peek, word.isSymbol(text) else { return false }
        position += 1
        return true
    }

    mutating func next(_ wanted: String) throws(ScriptComplaint) -> ScriptWord {
        guard let word = peek else { throw ScriptComplaint(end, "here the line needs \(wanted)") }
        guard !word.isSymbol(","), !word.isSymbol(":") else {
            throw ScriptComplaint(word.column, "here the line needs \(wanted), not \"\(word.text)\"")
        }
        position += 1
        return word
    }

    mutating func expect(_ text: String, _ place: String) throws(ScriptComplaint) {
        guard !take(text) else { return }
        throw ScriptComplaint(peek?.column ?? end, "here the line needs \"\(text)\", \(place)")
    }

    mutating func expectEnd() throws(ScriptComplaint) {
        if let word = peek {
            throw ScriptComplaint(word.column, "expected the end of the line before \"\(word.text)\"")
        }
    }

    /// From 1.
    mutating func count(_ wanted: String) throws(ScriptComplaint) -> Int {
        let word = try next(wanted)
        guard let number = Int(word.text), number > 0 else {
            throw ScriptComplaint(word.column, "\"\(word.text)\" is not a number from 1")
        }
        return number
    }

    mutating func percentage() throws(ScriptComplaint) -> Double {
        let word = try next("a percentage, as in 1.5%")
        guard word.text.hasSuffix("%"), let number = Double(word.text.dropLast()), (0...100).contains(number) else {
            throw ScriptComplaint(word.column, "\"\(word.text)\" is not a percentage from 0% to 100%")
        }
        return number / 100
    }

    mutating func duration(_ wanted: String) throws(ScriptComplaint) -> Duration {
        let word = try next(wanted)
        return try Self.duration(word.text, word.column)
    }

    func isDuration(at offset: Int) -> Bool {
        guard position + offset < words.count else { return false }
        return Self.duration(words[position + offset].text) != nil
    }

    static func duration(_ text: some StringProtocol, _ column: Int) throws(ScriptComplaint) -> Duration {
        guard let duration = duration(text) else {
            throw ScriptComplaint(
                column, "\"\(text)\" is not a duration: expected a whole number with us, ms, s, m or h")
        }
        return duration
    }

    private static func duration(_ text: some StringProtocol) -> Duration? {
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
}
