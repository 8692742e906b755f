import Core
import HTTP2

/// What one connection of the simulator keeps about its streams.
struct StreamTable {
    /// Something for a stream that has to wait until its answer has left.
    enum Afterthought {
        case reset(stream: Int32, HTTP2ErrorCode)
        /// For a stream that is closed.
        case anotherReset(stream: Int32, HTTP2ErrorCode)
    }

    /// Answers that are not due yet, by stream.
    var waiting: [Int32: PreparedAnswer] = [:]
    /// Streams that were answered before their request was complete.
    var answeredEarly: Set<Int32> = []
    var afterthoughts: [Afterthought] = []
    /// Streams that never get an answer.
    var silent: Set<Int32> = []
    /// The highest stream that is still worked on.
    var lastAllowed = Int32.max
}

/// What one connection of the simulator knows of its client.
struct ClientState {
    /// With the bundle IDs that were known when the connection was bound.
    var rules: RequestRules
    var credential = CredentialBinding()
    /// Instead of provider tokens, if the client showed one.
    var certificate: ClientCertificate?
    var errors = ErrorTally()
    var indexing = HeaderIndexing()

    init(rules: RequestRules) {
        self.rules = rules
    }
}

/// How far one connection is with the script.
struct ScriptRun {
    var counters: ScriptCounters
    /// The script's lines for idle connections: how long, and which; the shortest first.
    private let idleRules: [(time: Duration, rule: Int)]
    private var nextIdle = 0
    private var lastActivity = Instant.distantFuture

    init(_ script: Script) {
        counters = ScriptCounters(script)
        idleRules = script.rules.indices
            .compactMap { index in
                if case .idle(let duration) = script.rules[index].trigger { (duration, index) } else { nil }
            }
            .sorted { $0.time < $1.time }
    }

    mutating func connected(at now: Instant) {
        lastActivity = now
    }

    /// A request came: the connection is not idle, and all lines for idle connections apply again.
    mutating func requestReceived(at now: Instant) {
        lastActivity = now
        nextIdle = 0
    }

    /// When the next line for an idle connection applies; `nil` after the last one.
    var idleDeadline: Instant? {
        nextIdle < idleRules.count ? lastActivity + idleRules[nextIdle].time : nil
    }

    /// - Returns: The index of a line for an idle connection that applies now; `nil` if none does any more.
    mutating func popIdleRule(at now: Instant) -> Int? {
        guard let idleDeadline, idleDeadline <= now else { return nil }
        defer { nextIdle += 1 }
        return idleRules[nextIdle].rule
    }
}
