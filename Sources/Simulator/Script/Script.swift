package import HTTP2

/// How the simulator misbehaves, and when: the meaning of a script file.
///
/// `docs/start/simulator.md` describes the file's form.
package struct Script: Sendable {
    package var rules: [ScriptRule] = []
    /// How many counters the rules need.
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

/// One line: when, and what.
package struct ScriptRule: Equatable, Sendable {
    package var trigger: ScriptTrigger
    package var actions: [ScriptAction]

    /// Whether it looks at requests whose body is still to come.
    var isEarly: Bool { actions.contains(.early) }
}

package enum ScriptTrigger: Equatable, Sendable {
    /// A request that broke no rule and meets all conditions, tried from left to right.
    case request([ScriptCondition])
    /// The connection was set up.
    case connected
    /// The first valid provider token came.
    case authenticated
    /// So long after the connection was set up.
    case age(Duration)
    /// So long after the last request.
    case idle(Duration)
}

package enum ScriptCondition: Equatable, Sendable {
    case operation(ScriptOperation)
    case token(Glob)
    case topic(Glob)
    case pushType([UInt8])
    /// The so-many-th time that this apns-id is seen, counted over all connections.
    case attempt(Int)
    /// From 0 to 1.
    case chance(Double)
    case count(Counting, of: Int, Scope, counter: Int)

    var namesOperation: Bool {
        if case .operation = self { true } else { false }
    }

    package enum Counting: String, CaseIterable, Sendable {
        /// The multiples of the number.
        case every
        /// The number itself, once.
        case after
        /// From 1 to the number.
        case first
    }

    package enum Scope: String, CaseIterable, Sendable {
        case connection, server
    }
}

package enum ScriptAction: Equatable, Sendable {
    case answer(Answer)
    case delay(ClosedRange<Duration>)
    case silence
    /// The second frame and all after it are for a stream that is closed already.
    case reset(HTTP2ErrorCode, times: Int = 1)
    /// The line does not wait for the request's body, nor for the rules.
    case early
    case goaway(ScriptGoaway)
    case cut
    case settings(ScriptSettings)
    /// Nothing leaves for so long.
    case hold(Duration)
    /// So many PINGs.
    case ping(Int)
}

package struct ScriptGoaway: Equatable, Sendable {
    /// Which streams the frame says are, or may have been, worked on.
    package enum Last: Equatable, Sendable {
        /// Up to the latest that was seen.
        case all
        /// Up to the request that triggered it.
        case this
        /// All before the request that triggered it.
        case before
        case none
        case stream(Int32)
    }

    package enum Closing: String, CaseIterable, Sendable {
        /// After the streams that count have been answered.
        case answered
        case now
        case never
    }

    /// The frame's debug data is `{"reason":"…"}`.
    package var reason: String?
    package var code = HTTP2ErrorCode.noError
    package var last = Last.all
    package var closing = Closing.answered
    /// How long before the frame an announcing one with the highest last-stream-id goes out; `nil` for none.
    /// Source: RFC 9113, section 6.8.
    package var announcedBy: Duration?

    package init(reason: String? = nil) {
        self.reason = reason
    }
}

/// What a SETTINGS frame changes; `nil` leaves a value alone.
package struct ScriptSettings: Equatable, Sendable {
    package var streams: UInt32?
    /// Bytes, for streams only.
    package var window: UInt32?
    /// Bytes of HPACK table.
    package var table: UInt32?
    /// Bytes of a frame.
    package var frame: UInt32?

    package init() {}
}

/// A pattern in which `*` stands for any bytes, none included.
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
