import HTTP2

extension ScriptParser {
    static let verbs = [
        "status", "delay", "early", "silence", "rst", "goaway", "cut", "settings", "hold", "ping",
    ]

    func actions(_ words: inout ScriptWords, _ trigger: ScriptTrigger) throws(ScriptComplaint) -> [ScriptAction] {
        var actions: [ScriptAction] = []
        repeat {
            let word = try words.next("an action, as in status 503 ServiceUnavailable")
            let action = try action(word, &words)
            if !trigger.isRequest, action.needsRequest {
                throw word.complaint("\"\(word.text)\" needs a request, and this line is about a connection")
            }
            actions.append(action)
        } while words.take(",")
        return actions
    }

    private func action(_ word: ScriptWord, _ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptAction {
        if UInt16(word.text) != nil { return .respond(try response(word, &words)) }
        switch word.text {
        case "status": return .respond(try response(try words.next("a status from 200 to 599"), &words))
        case "delay": return .delay(try delay(&words))
        case "silence": return .silence
        case "cut": return .cut
        case "early": return .early
        case "rst": return try reset(&words)
        case "hold": return .hold(try words.duration())
        case "ping": return .ping(try words.next("how many, from 1").count())
        case "goaway": return .goaway(try goaway(&words))
        case "settings": return .settings(try settings(&words))
        default: throw word.unknown("is not an action", known: Self.verbs)
        }
    }

    private func response(_ word: ScriptWord, _ words: inout ScriptWords) throws(ScriptComplaint) -> SimulatedResponse {
        guard let status = UInt16(word.text), (200...599).contains(status) else {
            throw word.complaint("\(word.text) is not a status from 200 to 599")
        }
        var response = SimulatedResponse(status)
        response.reason = try reason(&words)
        try words.options(["timestamp", "body", "id", "frame", "trailers", "then"]) { option throws(ScriptComplaint) in
            switch option.name {
            case "timestamp":
                guard let number = Int64(option.text) else {
                    throw option.complaint("\"\(option.text)\" is not a time in milliseconds since 1970")
                }
                response.timestamp = number
            case "body": response.body = try option.choice()
            case "id": response.identifier = try option.choice()
            case "frame": response.largestFrame = Int(try option.number(from: 1, upTo: 16384))
            case "trailers": response.hasTrailers = try option.choice(of: ScriptSwitch.self) == .on
            default: response.resetCode = try errorCode(option)
            }
        }
        return response
    }

    private func reset(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptAction {
        let code = try errorCode(try words.next("an error code, as in REFUSED_STREAM"))
        var times = 1
        try words.options(["times"]) { option throws(ScriptComplaint) in
            times = Int(try option.number(from: 1, upTo: 1000))
        }
        return .reset(code, times: times)
    }

    /// A reason, if the line has one.
    private func reason(_ words: inout ScriptWords) throws(ScriptComplaint) -> String? {
        guard words.hasWord else { return nil }
        let word = try words.next("a reason")
        if word.isQuoted {
            guard word.text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\\") }) else {
                throw word.complaint("a reason has no backslashes or control characters")
            }
        } else if !Reasons.all.contains(word.text) {
            throw word.unknown("is not one of Apple's reasons (put others in quotes)", known: Reasons.all)
        }
        return word.text
    }

    private func delay(_ words: inout ScriptWords) throws(ScriptComplaint) -> ClosedRange<Duration> {
        let word = try words.next("how long, as in 200ms or 100ms..2s")
        guard let dots = word.text.firstRange(of: "..") else {
            let duration = try word.duration()
            return duration...duration
        }
        let least = try ScriptWord.duration(word.text[..<dots.lowerBound], word.column)
        let most = try ScriptWord.duration(word.text[dots.upperBound...], word.column)
        guard least <= most else { throw word.complaint("the shorter duration must be first") }
        return least...most
    }

    private func errorCode(_ word: ScriptWord) throws(ScriptComplaint) -> HTTP2ErrorCode {
        guard let code = HTTP2ErrorCode.names.firstIndex(of: word.text) else {
            throw word.unknown("is not an HTTP/2 error code", known: HTTP2ErrorCode.names)
        }
        return HTTP2ErrorCode(rawValue: UInt32(code))
    }

    private func goaway(_ words: inout ScriptWords) throws(ScriptComplaint) -> ScriptGoaway {
        var goaway = ScriptGoaway(reason: try reason(&words))
        try words.options(["last", "code", "close", "announced"]) { option throws(ScriptComplaint) in
            switch option.name {
            case "last":
                guard let last = ScriptGoaway.Last(option.text) else {
                    throw option.complaint("last is all, this, before, none or the odd number of a stream")
                }
                goaway.last = last
            case "code": goaway.code = try errorCode(option)
            case "close": goaway.closing = try option.choice()
            default: goaway.announcedBy = try option.duration()
            }
        }
        return goaway
    }

    private func settings(_ words: inout ScriptWords) throws(ScriptComplaint) -> ServerSettings {
        var settings = ServerSettings()
        try words.options(["streams", "window", "table", "frame"]) { option throws(ScriptComplaint) in
            switch option.name {
            case "streams": settings.maxConcurrentStreams = try option.number()
            case "window": settings.initialWindow = try option.number(upTo: UInt32(Int32.max))
            case "table": settings.headerTableSize = try option.number(upTo: 1 << 20)
            default: settings.maxFrameSize = try option.number(from: 16384, upTo: (1 << 24) - 1)
            }
        }
        guard settings != ServerSettings() else {
            throw ScriptComplaint(words.column, "here the line needs streams=, window=, table= or frame=")
        }
        return settings
    }
}

enum ScriptSwitch: String, CaseIterable {
    case on, off
}

extension ScriptGoaway.Last {
    fileprivate init?(_ text: String) {
        switch text {
        case "all": self = .all
        case "this": self = .this
        case "before": self = .before
        case "none": self = .none
        default:
            guard let stream = Int32(text), stream >= 0, stream == 0 || stream % 2 == 1 else { return nil }
            self = .stream(stream)
        }
    }
}

extension ScriptTrigger {
    fileprivate var isRequest: Bool {
        if case .request = self { true } else { false }
    }
}

extension ScriptAction {
    fileprivate var needsRequest: Bool {
        switch self {
        case .respond, .delay, .early, .silence, .reset: true
        case .goaway(let goaway): goaway.last == .before || goaway.last == .this
        case .cut, .settings, .hold, .ping: false
        }
    }
}
