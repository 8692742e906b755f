import HTTP2

/// What is to become of one request, and of its connection: the sum of all lines that apply.
struct Plan: Equatable {
    /// How the request ends; the first line that says so wins.
    enum Ending: Equatable {
        case answer(Answer)
        case silence
        case reset(HTTP2ErrorCode, times: Int)
    }

    private(set) var ending: Ending?
    /// What decided the ending, for the log.
    private(set) var cause: String?
    private(set) var delay: ClosedRange<Duration>?
    /// What happens to the connection, in the script's order.
    private(set) var connectionActions: [ScriptAction] = []

    /// - Parameter cause: where the actions come from.
    mutating func add(_ actions: [ScriptAction], because cause: @autoclosure () -> String) {
        let wasOpen = ending == nil
        defer { if wasOpen, ending != nil { self.cause = cause() } }
        for action in actions {
            switch action {
            case .answer(let answer): ending = ending ?? .answer(answer)
            case .silence: ending = ending ?? .silence
            case .reset(let code, let times): ending = ending ?? .reset(code, times: times)
            case .delay(let range): delay = delay ?? range
            case .early: continue
            case .goaway, .cut, .settings, .hold, .ping: connectionActions.append(action)
            }
        }
    }
}

/// What the conditions of a script look at.
struct ScriptSubject {
    /// Of a request about channels; `nil` for a notification.
    var operation: ScriptOperation?
    /// In lower case; `nil` for all but a notification to a device.
    var token: ArraySlice<UInt8>?
    /// `apns-topic`, or the bundle ID where there is none.
    var topic: ArraySlice<UInt8>
    var pushType: [UInt8]
    /// From 1.
    var attempt: Int
}

/// How often the counting conditions of a script were reached.
struct ScriptCounters {
    private var values: [Int]

    init(_ script: Script) {
        values = Array(repeating: 0, count: script.counters)
    }

    mutating func next(_ counter: Int) -> Int {
        values[counter] += 1
        return values[counter]
    }
}

extension Script {
    /// Whether there are lines that do not wait for a request's body.
    var hasEarlyRules: Bool { rules.contains(where: \.isEarly) }

    /// - Parameter isEarly: whether only the headers have come: the lines for that moment and the others are never
    ///   mixed.
    func plan(
        for subject: ScriptSubject, isEarly: Bool, _ connection: inout ScriptCounters, _ server: inout ScriptCounters,
        random: inout some RandomNumberGenerator
    ) -> Plan {
        var plan = Plan()
        for (index, rule) in rules.enumerated() where rule.isEarly == isEarly {
            guard case .request(let conditions) = rule.trigger else { continue }
            guard subject.operation == nil || conditions.contains(where: \.namesOperation) else { continue }
            // One after the other: a counter counts what the conditions before it let through.
            let applies = conditions.allSatisfy { condition in
                switch condition {
                case .operation(let operation): return subject.operation == operation
                case .token(let glob): return subject.token.map(glob.matches) ?? false
                case .topic(let glob): return glob.matches(subject.topic)
                case .pushType(let name): return subject.pushType == name
                case .attempt(let number): return subject.attempt == number
                case .chance(let share): return Double.random(in: 0..<1, using: &random) < share
                case .count(let counting, let number, let scope, let counter):
                    let count = scope == .server ? server.next(counter) : connection.next(counter)
                    switch counting {
                    case .every: return count % number == 0
                    case .after: return count == number
                    case .first: return count <= number
                    }
                }
            }
            if applies { plan.add(rule.actions, because: "rule \(index + 1) of the script") }
        }
        return plan
    }
}
