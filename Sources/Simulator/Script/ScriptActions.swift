import Core
import HTTP2

extension ScriptParser {
    static let verbs = ["status", "delay", "silence", "rst", "goaway", "cut", "settings", "hold", "ping"]

    func actions(_ words: inout ScriptWords, _ trigger: ScriptTrigger) throws(Complaint) -> [ScriptAction] {
        var isRequest = false
        if case .request = trigger { isRequest = true }
        var actions: [ScriptAction] = []
        repeat {
            let verb = try words.next("an action, as in status 503 ServiceUnavailable")
            let action = try action(verb, &words)
            guard isRequest || !action.needsRequest else {
                throw Complaint("\"\(verb)\" needs a request, and this line is about a connection")
            }
            actions.append(action)
        } while words.take(",")
        return actions
    }

    private func action(_ verb: String, _ words: inout ScriptWords) throws(Complaint) -> ScriptAction {
        if UInt16(verb) != nil { return .respond(try response(verb, &words)) }
        switch verb {
        case "status": return .respond(try response(try words.next("a status from 200 to 599"), &words))
        case "delay": return .delay(try delay(&words))
        case "silence": return .silence
        case "cut": return .cut
        case "rst": return .reset(try errorCode(try words.next("an error code, as in REFUSED_STREAM")))
        case "hold": return .hold(try words.duration())
        case "ping": return .ping(try words.value("how many, from 1").count())
        case "goaway": return .goaway(try goaway(&words))
        case "settings": return .settings(try settings(&words))
        default: throw Complaint(unknown: verb, "is not an action", known: Self.verbs)
        }
    }

    private func response(_ text: String, _ words: inout ScriptWords) throws(Complaint) -> SimulatedResponse {
        guard let status = UInt16(text), (200...599).contains(status) else {
            throw Complaint("\(text) is not a status from 200 to 599")
        }
        var response = SimulatedResponse(status, try reason(&words))
        try words.options(["timestamp", "then"]) { option throws(Complaint) in
            if option.name == "then" {
                response.rest = option.text == "silence" ? .silence : .reset(try errorCode(option.text))
                return
            }
            guard let number = Int64(option.text) else {
                throw Complaint("\"\(option.text)\" is not a time in milliseconds since 1970")
            }
            response.timestamp = number
        }
        return response
    }

    private func reason(_ words: inout ScriptWords) throws(Complaint) -> String? {
        guard words.hasWord else { return nil }
        let word = try words.next("a reason")
        guard word.hasPrefix("\"") else {
            let known = ResponseRule.all.map(\.reason.description)
            if known.contains(word) { return word }
            throw Complaint(unknown: word, "is not one of Apple's reasons (put others in quotes)", known: known)
        }
        guard word.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\\") }) else {
            throw Complaint("a reason has no backslashes or control characters")
        }
        return String(word.dropFirst())
    }

    private func delay(_ words: inout ScriptWords) throws(Complaint) -> ClosedRange<Duration> {
        let text = try words.next("a duration, as in 200ms or 100ms..2s")
        let ends = text.split(separator: "..", maxSplits: 1).map { ScriptValue(name: "delay", text: String($0)) }
        guard ends.count == 2 else {
            let duration = try ScriptValue(name: "delay", text: text).duration()
            return duration...duration
        }
        let (least, most) = (try ends[0].duration(), try ends[1].duration())
        guard least <= most else { throw Complaint("the shorter duration must be first in \"\(text)\"") }
        return least...most
    }

    private func errorCode(_ text: String) throws(Complaint) -> HTTP2ErrorCode {
        guard let code = HTTP2ErrorCode.names.firstIndex(of: text) else {
            throw Complaint(unknown: text, "is not an HTTP/2 error code", known: HTTP2ErrorCode.names)
        }
        return HTTP2ErrorCode(rawValue: UInt32(code))
    }

    private func goaway(_ words: inout ScriptWords) throws(Complaint) -> ScriptGoaway {
        var goaway = ScriptGoaway(reason: try reason(&words))
        try words.options(["last", "code", "close", "announced"]) { option throws(Complaint) in
            switch option.name {
            case "last": goaway.last = try option.choice()
            case "code": goaway.code = try errorCode(option.text)
            case "close": goaway.closing = try option.choice()
            default: goaway.announcedBy = try option.duration()
            }
        }
        return goaway
    }

    private func settings(_ words: inout ScriptWords) throws(Complaint) -> [HTTP2Setting: UInt32] {
        var settings: [HTTP2Setting: UInt32] = [:]
        try words.options(["streams", "window", "table", "frame"]) { option throws(Complaint) in
            switch option.name {
            case "streams": settings[.maxConcurrentStreams] = try option.number()
            case "window": settings[.initialWindow] = try option.number(upTo: UInt32(Int32.max))
            case "table": settings[.headerTableSize] = try option.number(upTo: 1 << 20)
            default: settings[.maxFrameSize] = try option.number(from: 16384, upTo: (1 << 24) - 1)
            }
        }
        guard !settings.isEmpty else {
            throw Complaint("the line needs streams=, window=, table= or frame=")
        }
        return settings
    }
}

extension ScriptAction {
    fileprivate var needsRequest: Bool {
        switch self {
        case .respond, .delay, .silence, .reset: true
        case .goaway(let goaway): goaway.last == .before || goaway.last == .this
        case .cut, .settings, .hold, .ping: false
        }
    }
}
