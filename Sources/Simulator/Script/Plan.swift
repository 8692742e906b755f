import HTTP2

/// The combined effect of all matching rules on one request and its connection.
struct Plan {
    /// How the request ends; the first rule with an ending determines it.
    enum Ending {
        case respond(SimulatedResponse)
        case silence
        case reset(HTTP2ErrorCode)
    }

    private(set) var ending: Ending?
    /// The source of the ending, for the log.
    private(set) var cause: String?
    private(set) var delay: ClosedRange<Duration>?
    /// The effects on the connection, in the script's order.
    private(set) var connectionActions: [ScriptAction] = []

    mutating func add(_ actions: [ScriptAction], because cause: @autoclosure () -> String) {
        let wasOpen = ending == nil
        defer { if wasOpen, ending != nil { self.cause = cause() } }
        for action in actions {
            switch action {
            case .respond(let response): ending = ending ?? .respond(response)
            case .silence: ending = ending ?? .silence
            case .reset(let code): ending = ending ?? .reset(code)
            case .delay(let range): delay = delay ?? range
            case .goaway, .cut, .settings, .hold, .ping: connectionActions.append(action)
            }
        }
    }
}

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

extension Script {
    /// The number of evaluations of each counting condition, before the first one.
    var noCounts: [Int] { Array(repeating: 0, count: counters) }

    /// - Parameters:
    ///   - connection: the counts of the subject's connection.
    ///   - server: the counts of all connections.
    func plan(
        for subject: ScriptSubject, _ connection: inout [Int], _ server: inout [Int],
        random: inout some RandomNumberGenerator
    ) -> Plan {
        var plan = Plan()
        for (index, rule) in rules.enumerated() {
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
                    connection[counter] += 1
                    server[counter] += 1
                    let count = scope == .server ? server[counter] : connection[counter]
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
