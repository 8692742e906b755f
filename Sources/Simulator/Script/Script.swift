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
    case token(Glob)
    case topic(Glob)
    case pushType([UInt8])
    /// The attempt number of the apns-id, counted over all connections.
    case attempt(Int)
    /// From 0 to 1.
    case chance(Double)
    case count(Counting, of: Int, Scope, counter: Int)

    var namesOperation: Bool {
        if case .operation = self { true } else { false }
    }

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
    case settings(ServerSettings)
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
    package var last = Last.all
    package var closing = Closing.responded
    /// The time between a preceding GOAWAY with the highest last-stream-id and the real one; `nil` for no such frame.
    /// Source: RFC 9113, section 6.8.
    package var announcedBy: Duration?

    package init(reason: String? = nil) {
        self.reason = reason
    }
}

/// A pattern in which `*` matches any text, including none.
package struct Glob: Equatable, Sendable {
    private let pattern: String

    package init(_ pattern: String) {
        self.pattern = pattern
    }

    package func matches(_ text: ArraySlice<UInt8>) -> Bool {
        unsafe fnmatch(pattern, String(decoding: text, as: UTF8.self), FNM_NOESCAPE) == 0
    }
}
