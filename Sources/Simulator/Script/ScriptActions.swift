import HTTP2

extension ScriptParser {
    static let verbs = [
        "status", "delay", "early", "silence", "rst", "goaway", "cut", "settings", "hold", "ping",
    ]

    func actions(_ words: inout ScriptWords, _ trigger: ScriptTrigger) throws(ScriptComplaint) -> [ScriptAction] {
        var actions: [ScriptAction] = []
        repeat {
            let word = words.peek
            let action = try action(&words)
            if let word, !trigger.isRequest, action.needsRequest {
                throw ScriptComplaint(
                    word.column, "\"\(word.text)\" needs a request, and this line is about a connection")
            }
            actions.append(action)
        } while words.take(",")
        try words.expectEnd()
        return actions
    }

    private func action(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptAction {
        let word = try words.next("an action, as in status 503 ServiceUnavailable")
        if let status = UInt16(word.text) { return .respond(try response(status, word.column, &words)) }
        switch word.text {
        case "status":
            let number = try words.next("a status from 200 to 599")
            guard let status = UInt16(number.text) else {
                throw ScriptComplaint(number.column, "\"\(number.text)\" is not a status from 200 to 599")
            }
            return .respond(try response(status, number.column, &words))
        case "delay": return .delay(try delay(&words))
        case "silence": return .silence
        case "cut": return .cut
        case "early": return .early
        case "rst": return try reset(&words)
        case "hold": return .hold(try words.duration("how long, as in 10s"))
        case "ping": return .ping(try words.count("how many, from 1"))
        case "goaway": return .goaway(try goaway(&words))
        case "settings": return .settings(try settings(&words))
        default: throw ScriptComplaint(word, "\"\(word.text)\" is not an action", known: Self.verbs)
        }
    }

    private func response(_ status: UInt16, _ column: Int, _ words: inout ScriptWords) throws(ScriptComplaint)
        -> SimulatedResponse
    {
        guard (200...599).contains(status) else {
            throw ScriptComplaint(column, "\(status) is not a status from 200 to 599")
        }
        var response = SimulatedResponse(status)
        if let word = words.peek, !word.isSymbol(","), word.isQuoted || !word.text.contains("=") {
            response.reason = try reason(&words)
        }
        while let option = try words.option() {
            switch option.name {
            case "timestamp":
                guard let number = Int64(option.value) else {
                    throw ScriptComplaint(option.column, "\"\(option.value)\" is not a time in milliseconds since 1970")
                }
                response.timestamp = number
            case "body":
                response.body = try option.choice(SimulatedResponse.Body.allCases)
            case "id": response.identifier = try option.choice(SimulatedResponse.Identifier.allCases)
            case "frame": response.largestFrame = Int(try option.number(from: 1, upTo: 16384))
            case "trailers": response.hasTrailers = try option.choice(Switch.allCases) == .on
            case "then": response.resetCode = try errorCode(option.word)
            default: throw option.unknown(["timestamp", "body", "id", "frame", "trailers", "then"])
            }
        }
        return response
    }

    private enum Switch: String, CaseIterable {
        case on, off
    }

    private func reset(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptAction {
        let code = try errorCode(try words.next("an error code, as in REFUSED_STREAM"))
        guard let option = try words.option() else { return .reset(code) }
        guard option.name == "times" else { throw option.unknown(["times"]) }
        return .reset(code, times: Int(try option.number(from: 1, upTo: 1000)))
    }

    private func reason(_ words: inout ScriptWords) throws(ScriptComplaint) -> String {
        let word = try words.next("a reason")
        if word.isQuoted {
            guard word.text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\\") }) else {
                throw ScriptComplaint(word.column, "a reason has no backslashes or control characters")
            }
            return word.text
        }
        guard Reasons.all.contains(word.text) else {
            throw ScriptComplaint(
                word, "\"\(word.text)\" is not one of Apple's reasons (put others in quotes)", known: Reasons.all)
        }
        return word.text
    }

    private func delay(_ words: inout ScriptWords) throws(ScriptComplaint) -> ClosedRange<Duration> {
        let word = try words.next("how long, as in 200ms or 100ms..2s")
        guard let dots = word.text.firstRange(of: "..") else {
            let duration = try ScriptWords.duration(word.text, word.column)
            return duration...duration
        }
        let least = try ScriptWords.duration(word.text[..<dots.lowerBound], word.column)
        let most = try ScriptWords.duration(word.text[dots.upperBound...], word.column)
        guard least <= most else { throw ScriptComplaint(word.column, "the shorter duration must be first") }
        return least...most
    }

    private func errorCode(_ word: ScriptWord) throws(ScriptComplaint) -> HTTP2ErrorCode {
        guard let code = HTTP2ErrorCode.names.firstIndex(of: word.text) else {
            throw ScriptComplaint(word, "\"\(word.text)\" is not an HTTP/2 error code", known: HTTP2ErrorCode.names)
        }
        return HTTP2ErrorCode(rawValue: UInt32(code))
    }

    private func goaway(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptGoaway {
        var goaway = ScriptGoaway()
        if let word = words.peek, !word.isSymbol(","), word.isQuoted || !word.text.contains("=") {
            goaway.reason = try reason(&words)
        }
        while let option = try words.option() {
            switch option.name {
            case "last":
                switch option.value {
                case "all": goaway.last = .all
                case "this": goaway.last = .this
                case "before": goaway.last = .before
                case "none": goaway.last = .none
                default:
                    guard let stream = Int32(option.value), stream >= 0, stream == 0 || stream % 2 == 1 else {
                        throw ScriptComplaint(
                            option.column, "last is all, this, before, none or the odd number of a stream")
                    }
                    goaway.last = .stream(stream)
                }
            case "code":
                goaway.code = try errorCode(option.word)
            case "close": goaway.closing = try option.choice(ScriptGoaway.Closing.allCases)
            case "announced": goaway.announcedBy = try ScriptWords.duration(option.value, option.column)
            default: throw option.unknown(["last", "code", "close", "announced"])
            }
        }
        return goaway
    }

    private func settings(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptSettings {
        var settings = ScriptSettings()
        while let option = try words.option() {
            switch option.name {
            case "streams": settings.streams = try option.number(upTo: .max)
            case "window": settings.window = try option.number(upTo: UInt32(Int32.max))
            case "table": settings.table = try option.number(upTo: 1 << 20)
            case "frame": settings.frame = try option.number(from: 16384, upTo: (1 << 24) - 1)
            default: throw option.unknown(["streams", "window", "table", "frame"])
            }
        }
        guard settings != ScriptSettings() else {
            throw ScriptComplaint(words.column, "here the line needs streams=, window=, table= or frame=")
        }
        return settings
    }
}

extension ScriptTrigger {
    var isRequest: Bool {
        if case .request = self { true } else { false }
    }
}

extension ScriptAction {
    var needsRequest: Bool {
        switch self {
        case .respond, .delay, .early, .silence, .reset: true
        case .goaway(let goaway): goaway.last == .before || goaway.last == .this
        case .cut, .settings, .hold, .ping: false
        }
    }
}

/// A word like `name=value`.
struct ScriptOption {
    let name: String
    let value: String
    let column: Int

    /// The value as a separate word.
    var word: ScriptWord { ScriptWord(text: value, column: column, isQuoted: false) }

    func unknown(_ known: [String]) -> ScriptComplaint {
        ScriptComplaint(
            ScriptWord(text: name, column: column, isQuoted: false), "\"\(name)\" is not known here", known: known)
    }

    func choice<Choice: RawRepresentable<String>>(_ choices: [Choice]) throws(ScriptComplaint) -> Choice {
        guard let choice = Choice(rawValue: value) else {
            throw ScriptComplaint(
                column, "\(name) is one of \(choices.map(\.rawValue).joined(separator: ", ")), not \"\(value)\"")
        }
        return choice
    }

    func duration() throws(ScriptComplaint) -> Duration {
        try ScriptWords.duration(value, column)
    }

    func number(from least: UInt32 = 0, upTo limit: UInt32) throws(ScriptComplaint) -> UInt32 {
        guard let number = UInt32(value), number >= least, number <= limit else {
            throw ScriptComplaint(column, "\(name) is a number from \(least) to \(limit), not \"\(value)\"")
        }
        return number
    }
}

extension ScriptWords {
    /// The column of the next word, or of the end of the line.
    var column: Int { peek?.column ?? end }

    /// The next word if it is an option; a word without `=` is an error unless it is a comma or a colon.
    mutating func option() throws(ScriptComplaint) -> ScriptOption? {
        guard let word = peek, !word.isSymbol(","), !word.isSymbol(":") else { return nil }
        guard let equals = word.text.firstIndex(of: "="), !word.isQuoted else {
            throw ScriptComplaint(
                word.column, "here the line needs name=value, a comma or its end, not \"\(word.text)\"")
        }
        skip()
        return ScriptOption(
            name: String(word.text[..<equals]), value: String(word.text[word.text.index(after: equals)...]),
            column: word.column)
    }
}
