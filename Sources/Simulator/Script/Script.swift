import Glibc
package import HTTP2

/// The faults to simulate and their conditions: the content of a script file.
///
/// `docs/start/simulator.md` describes the syntax.
package struct Script: Sendable {
    package var rules: [ScriptRule] = []
    /// The number of counters that the rules need.
    package var counters = 0
    package var channels: [ScriptChannel] = []

    package init() {}
}

package struct ScriptChannel: Equatable, Sendable {
    package var bundleID: String
    package var channelID: String
    package var policy: ChannelRegistry.StoragePolicy
}

/// One line: a condition and its actions.
package struct ScriptRule: Equatable, Sendable {
    package var trigger: ScriptTrigger
    package var actions: [ScriptAction]
}

package enum ScriptTrigger: Equatable, Sendable {
    /// A request that passed all checks and matches all conditions, evaluated from left to right.
    case request([ScriptCondition])
    case connected
    /// The first valid provider token arrived.
    case authenticated
    /// This time after the connection was opened.
    case age(Duration)
    /// This time after the last request.
    case idle(Duration)
}

package enum ScriptCondition: Equatable, Sendable {
    case operation(ScriptOperation)
    /// A pattern of the device token.
    case token(String)
    /// A pattern of the topic.
    case topic(String)
    case pushType([UInt8])
    /// The attempt number of the apns-id, counted over all connections.
    case attempt(Int)
    /// From 0 to 1.
    case chance(Double)
    case count(Counting, of: Int, Scope, counter: Int)

    package enum Counting: String, CaseIterable, Sendable {
        /// Multiples of the number.
        case every
        /// Exactly the number, once.
        case after
        /// From 1 to the number.
        case first
    }

    package enum Scope: String, CaseIterable, Sendable {
        case connection, server
    }
}

package enum ScriptAction: Equatable, Sendable {
    case respond(SimulatedResponse)
    case delay(ClosedRange<Duration>)
    case silence
    case reset(HTTP2ErrorCode)
    case goaway(ScriptGoaway)
    case cut
    case settings([HTTP2Setting: UInt32])
    /// Holds all output for this time.
    case hold(Duration)
    case ping(Int)
}

package struct ScriptGoaway: Equatable, Sendable {
    /// The streams that the frame declares as possibly processed.
    package enum Last: String, CaseIterable, Sendable {
        /// Up to the latest stream seen.
        case all
        /// Up to the request that triggered it.
        case this
        /// All before the request that triggered it.
        case before
        case none
    }

    package enum Closing: String, CaseIterable, Sendable {
        /// After all covered streams were answered.
        case responded = "answered"
        case now
        case never
    }

    /// The frame's debug data is `{"reason":"…"}`.
    package var reason: String?
    package var code = HTTP2ErrorCode.noError
    package var last: Last
    package var closing = Closing.responded
    /// The time between a preceding GOAWAY with the highest last-stream-id and the real one; `nil` for no such frame.
    /// Source: RFC 9113, section 6.8.
    package var announcedBy: Duration?

    package init(reason: String? = nil, last: Last = .all) {
        self.reason = reason
        self.last = last
    }
}

/// The combined effect of all matching rules on one request and its connection.
struct ScriptPlan {
    /// How the request ends: the first `respond`, `silence` or `reset`.
    private(set) var ending: ScriptAction?
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
            case .respond, .silence, .reset: ending = ending ?? action
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
    /// - Parameters:
    ///   - connection: the counts of the subject's connection.
    ///   - server: the counts of all connections.
    func plan(
        for subject: ScriptSubject, _ connection: inout [Int], _ server: inout [Int],
        random: inout some RandomNumberGenerator
    ) -> ScriptPlan {
        var plan = ScriptPlan()
        for (index, rule) in rules.enumerated() {
            guard case .request(let conditions) = rule.trigger else { continue }
            let namesOperation = conditions.contains { if case .operation = $0 { true } else { false } }
            guard subject.operation == nil || namesOperation else { continue }
            // In order: a counter counts only if all conditions before it match.
            let applies = conditions.allSatisfy { condition in
                switch condition {
                case .operation(let operation): return subject.operation == operation
                case .token(let pattern): return subject.token.map { Self.matches($0, pattern) } ?? false
                case .topic(let pattern): return Self.matches(subject.topic, pattern)
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

    /// - Parameter pattern: `*` in it matches any text, including none.
    static func matches(_ text: ArraySlice<UInt8>, _ pattern: String) -> Bool {
        unsafe fnmatch(pattern, String(decoding: text, as: UTF8.self), FNM_NOESCAPE) == 0
    }
}
