import HTTP2

/// The combined effect of all matching rules on one request and its connection.
struct Plan: Equatable {
    /// How the request ends; the first rule with an ending determines it.
    enum Ending: Equatable {
        case respond(SimulatedResponse)
        case silence
        case reset(HTTP2ErrorCode, times: Int)
    }

    private(set) var ending: Ending?
    /// The source of the ending, for the log.
    private(set) var cause: String?
    private(set) var delay: ClosedRange<Duration>?
    /// The effects on the connection, in the script's order.
    private(set) var connectionActions: [ScriptAction] = []

    /// - Parameter cause: the source of the actions.
    mutating func add(_ actions: [ScriptAction], because cause: @autoclosure () -> String) {
        let wasOpen = ending == nil
        defer { if wasOpen, ending != nil { self.cause = cause() } }
        for action in actions {
            switch action {
            case .respond(let response): ending = ending ?? .respond(response)
            case .silence: ending = ending ?? .silence
            case .reset(let code, let times): ending = ending ?? .reset(code, times: times)
            case .delay(let range): delay = delay ?? range
            case .early: continue
            case .goaway, .cut, .settings, .hold, .ping: connectionActions.append(action)
            }
        }
    }
}

/// The input for the conditions of a script.
struct ScriptSubject {
    /// Of a channel management request; `nil` for a notification.
    var operation: ScriptOperation?
    /// In lower case; `nil` except for a notification to a device.
    var token: ArraySlice<UInt8>?
    /// `apns-topic`, or the bundle ID if there is none.
    var topic: ArraySlice<UInt8>
    var pushType: [UInt8]
    /// From 1.
    var attempt: Int
}

/// The number of evaluations of each counting condition of a script.
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
    /// Whether any rule applies before a request's body arrives.
    var hasEarlyRules: Bool { rules.contains(where: \.isEarly) }

    /// - Parameter isEarly: whether only the headers have arrived: selects the early rules, otherwise all others.
    func plan(
        for subject: ScriptSubject, isEarly: Bool, _ connection: inout ScriptCounters, _ server: inout ScriptCounters,
        random: inout some RandomNumberGenerator
    ) -> Plan {
        var plan = Plan()
        for (index, rule) in rules.enumerated() where rule.isEarly == isEarly {
            guard case .request(let conditions) = rule.trigger else { continue }
            guard subject.operation == nil || conditions.contains(where: \.namesOperation) else { continue }
            // In order: a counter counts only if all conditions before it match.
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
