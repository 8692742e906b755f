package import Core

extension Script {
    /// - Parameters:
    ///   - file: the name for error messages and the base for relative paths in `set key … file=`.
    ///   - configuration: changed by the `set` lines.
    /// - Throws: all errors, one a line.
    package init(
        _ text: String, file: String, _ configuration: inout SimulatorConfiguration
    ) throws(Complaint) {
        var parser = ScriptParser(file: file, configuration: configuration)
        var complaints: [String] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            do throws(Complaint) {
                try parser.read(line)
            } catch {
                complaints.append("\(file):\(index + 1): \(error.message)")
            }
        }
        guard complaints.isEmpty else { throw Complaint(complaints.joined(separator: "\n")) }
        self = parser.script
        configuration = parser.configuration
    }
}

struct ScriptParser {
    let file: String
    var configuration: SimulatorConfiguration
    var script = Script()

    mutating func read(_ line: some StringProtocol) throws(Complaint) {
        var words = try ScriptWords(line)
        guard !words.isEmpty else { return }
        if words.take("set") {
            try set(&words)
        } else {
            let trigger = try trigger(&words)
            try words.expect(":", "after the condition, before the action")
            script.rules.append(ScriptRule(trigger: trigger, actions: try actions(&words, trigger)))
        }
        try words.expectEnd()
    }

    private static let triggers = [
        "token", "topic", "type", "operation", "attempt", "chance", "every", "after", "first", "connect",
        "authenticated", "idle",
    ]

    private mutating func trigger(_ words: inout ScriptWords) throws(Complaint) -> ScriptTrigger {
        if words.take("connect") { return .connected }
        if words.take("authenticated") { return .authenticated }
        if words.take("idle") { return .idle(try words.duration()) }
        if words.announcesDuration, words.take("after") { return .age(try words.duration()) }
        var conditions = [try condition(&words)]
        while words.take(",") { conditions.append(try condition(&words)) }
        return .request(conditions)
    }

    private mutating func condition(_ words: inout ScriptWords) throws(Complaint) -> ScriptCondition {
        let name = try words.next("a condition")
        switch name {
        case "token":
            let pattern = try words.next("a pattern, as in dead*")
            if let stray = pattern.first(where: { $0 != "*" && !($0.isASCII && $0.isHexDigit) }) {
                throw Complaint(
                    "a device token cannot contain \"\(stray)\": expected hexadecimal digits, or * for any of them")
            }
            return .token(pattern.lowercased())
        case "topic": return .topic(try words.next("a pattern, as in com.example.*"))
        case "type":
            let type = try words.next("a push type")
            let known = PushTypeRule.all.map(\.name.description)
            guard known.contains(type) else { throw Complaint(unknown: type, "is not a push type", known: known) }
            return .pushType(Array(type.utf8))
        case "operation": return .operation(try words.value("create, read, delete or list", of: name).choice())
        case "attempt": return .attempt(try words.value("which attempt, from 1").count())
        case "chance":
            let share = try words.next("a percentage, as in 1.5%")
            guard share.hasSuffix("%"), let number = Double(share.dropLast()), (0...100).contains(number) else {
                throw Complaint("\"\(share)\" is not a percentage from 0% to 100%")
            }
            return .chance(number / 100)
        default:
            guard let counting = ScriptCondition.Counting(rawValue: name) else {
                throw Complaint(unknown: name, "is not a condition", known: Self.triggers)
            }
            return try count(counting, &words)
        }
    }

    private mutating func count(
        _ counting: ScriptCondition.Counting, _ words: inout ScriptWords
    ) throws(Complaint) -> ScriptCondition {
        let number = try words.value("how many, as in 100 requests").count()
        if !words.take("requests") { try words.expect("request", "after the number") }
        var scope = counting == .after ? ScriptCondition.Scope.connection : .server
        if words.take("on") { scope = try words.value("connection or server", of: "on").choice() }
        script.counters += 1
        return .count(counting, of: number, scope, counter: script.counters - 1)
    }
}
