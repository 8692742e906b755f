import Core
import HTTP2

struct StreamTable {
    /// Delayed responses, by stream.
    var waiting: [Int32: PreparedResponse] = [:]
    /// Resets that follow the headers of a response.
    var resets: [(stream: Int32, code: HTTP2ErrorCode)] = []
    /// Streams without a response.
    var silent: Set<Int32> = []
    /// When the longest delay of all output ends.
    var heldUntil = Instant(nanoseconds: 0)
    /// The highest stream that is processed.
    var lastAllowed = Int32.max
}

struct ClientState {
    var rules = RequestRules()
    var credential = CredentialBinding()
    var indexing = HeaderIndexing()
}

struct ScriptRun {
    var counters: [Int]
    /// The script's rules for idle connections with their times, shortest first.
    private let idleRules: [(time: Duration, rule: Int)]
    private var nextIdle = 0
    private var lastActivity = Instant.distantFuture

    init(_ script: Script) {
        counters = script.noCounts
        idleRules = script.rules.indices
            .compactMap { index in
                if case .idle(let duration) = script.rules[index].trigger { (duration, index) } else { nil }
            }
            .sorted { $0.time < $1.time }
    }

    mutating func connected(at now: Instant) {
        lastActivity = now
    }

    /// A request arrived: the connection is active, and all idle rules apply again.
    mutating func requestReceived(at now: Instant) {
        lastActivity = now
        nextIdle = 0
    }

    /// When the next idle rule applies; `nil` after the last one.
    var idleDeadline: Instant? {
        nextIdle < idleRules.count ? lastActivity + idleRules[nextIdle].time : nil
    }

    /// - Returns: The index of an idle rule that applies now; `nil` if none is left.
    mutating func popIdleRule(at now: Instant) -> Int? {
        guard let idleDeadline, idleDeadline <= now else { return nil }
        defer { nextIdle += 1 }
        return idleRules[nextIdle].rule
    }
}
