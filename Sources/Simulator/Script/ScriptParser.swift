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
            guard words.peek != nil else { return }
            if words.take("set") {
                try set(&words)
            } else {
                let trigger = try trigger(&words)
                try words.expect(":", "after the condition, before the action")
                script.rules.append(ScriptRule(trigger: trigger, actions: try actions(&words, trigger)))
            }
            try words.expectEnd()
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
        if words.take("connect") { return .connected }
        if words.take("authenticated") { return .authenticated }
        if words.take("idle") { return .idle(try words.duration()) }
        if words.announcesDuration, words.take("after") { return .age(try words.duration()) }
        var conditions = [try condition(&words)]
        while words.take(",") { conditions.append(try condition(&words)) }
        return .request(conditions)
    }

    private mutating func condition(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptCondition {
        let word = try words.next("a condition")
        switch word.text {
        case "token":
            let pattern = try words.next("a pattern, as in dead*")
            if let stray = pattern.text.first(where: { $0 != "*" && !($0.isASCII && $0.isHexDigit) }) {
                throw pattern.complaint(
                    "a device token cannot contain \"\(stray)\": expected hexadecimal digits, or * for any of them")
            }
            return .token(Glob(pattern.text.lowercased().utf8))
        case "topic": return .topic(Glob(try words.next("a pattern, as in com.example.*").text.utf8))
        case "type":
            let name = try words.next("a push type")
            let known = PushTypeRule.all.map(\.name.description)
            guard known.contains(name.text) else { throw name.unknown("is not a push type", known: known) }
            return .pushType(Array(name.text.utf8))
        case "operation":
            return .operation(try words.next("create, read, delete or list", name: "operation").choice())
        case "attempt": return .attempt(try words.next("which attempt, from 1").count())
        case "chance":
            let share = try words.next("a percentage, as in 1.5%")
            guard share.text.hasSuffix("%"), let number = Double(share.text.dropLast()), (0...100).contains(number)
            else { throw share.complaint("\"\(share.text)\" is not a percentage from 0% to 100%") }
            return .chance(number / 100)
        default:
            guard let counting = ScriptCondition.Counting(rawValue: word.text) else {
                throw word.unknown("is not a condition", known: Self.triggers)
            }
            return try count(counting, &words)
        }
    }

    private mutating func count(
        _ counting: ScriptCondition.Counting, _ words: inout ScriptWords
    ) throws(ScriptComplaint) -> ScriptCondition {
        let number = try words.next("how many, as in 100 requests").count()
        if !words.take("requests") { try words.expect("request", "after the number") }
        var scope = counting == .after ? ScriptCondition.Scope.connection : .server
        if words.take("on") { scope = try words.next("connection or server", name: "on").choice() }
        script.counters += 1
        return .count(counting, of: number, scope, counter: script.counters - 1)
    }
}
