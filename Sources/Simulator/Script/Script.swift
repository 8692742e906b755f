package import HTTP2

/// The faults to simulate and their conditions: the content of a script file.
///
/// `docs/start/simulator.md` describes the syntax.
package struct Script: Sendable {
    package var rules: [ScriptRule] = []
    /// The number of counters that the rules need.
    package var counters = 0
    /// Channels that exist from the start.
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

    /// Whether it applies before a request's body arrives.
    var isEarly: Bool { actions.contains(.early) }
}

package enum ScriptTrigger: Equatable, Sendable {
    /// A request that passed all checks and matches all conditions, evaluated from left to right.
    case request([ScriptCondition])
    /// A connection was opened.
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
    /// All frames after the first are for a stream that is already closed.
    case reset(HTTP2ErrorCode, times: Int = 1)
    /// The rule applies before the request's body arrives and before the checks.
    case early
    case goaway(ScriptGoaway)
    case cut
    case settings(ServerSettings)
    /// Holds all output for this time.
    case hold(Duration)
    /// The number of PINGs to send.
    case ping(Int)
}

package struct ScriptGoaway: Equatable, Sendable {
    /// The streams that the frame declares as possibly processed.
    package enum Last: Equatable, Sendable {
        /// Up to the latest stream seen.
        case all
        /// Up to the request that triggered it.
        case this
        /// All before the request that triggered it.
        case before
        case none
        case stream(Int32)
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

/// A pattern in which `*` matches any bytes, including none.
package struct Glob: Equatable, Sendable {
    private let parts: [[UInt8]]

    package init(_ pattern: some Sequence<UInt8>) {
        parts = Array(pattern).split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
    }

    package func matches(_ text: ArraySlice<UInt8>) -> Bool {
        guard parts.count > 1 else { return text.elementsEqual(parts[0]) }
        guard text.starts(with: parts[0]) else { return false }
        var rest = text.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard let found = Self.end(of: part, in: rest) else { return false }
            rest = rest[found...]
        }
        let last = parts[parts.count - 1]
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }

    private static func end(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= part.count else { return nil }
        for start in text.startIndex...text.endIndex - part.count where text[start...].starts(with: part) {
            return start + part.count
        }
        return nil
    }
}
