import Core

/// One of a pool's connections: its engine, its token bucket, and what the pool has noticed about it.
final class PoolConnection {
    let engine: APNsEngine
    /// Counts the pool's connections in the order in which they were dialled.
    let serial: UInt32
    var limiter: RateLimiter
    var brake: ErrorBrake?
    var trial = ConnectionTrial()
    var streamCut = StreamCut()
    /// Whether it was given a request, which binds it to the team, the key and the bundle IDs of that one.
    var isBound = false
    /// Whether its first request was not answered in time.
    var isWarmUpOver = false
    /// When the newest answer came.
    var answeredAt: Instant?
    /// It retires as soon as a connection with this number, or a later one, is ready.
    var replacedBy: UInt32?
    /// Whether a provider token was refused on it in a way that only another connection may mend.
    var isRefused = false
    /// Answers in a row that were `InternalServerError`.
    var serverErrors = 0
    var isClosed = false

    init(engine: APNsEngine, serial: UInt32, limiter: RateLimiter, brake: ErrorBrake?) {
        self.engine = engine
        self.serial = serial
        self.limiter = limiter
        self.brake = brake
    }

    var isReady: Bool { engine.phase == .ready }

    /// Whether it counts among the connections that the pool relies on: it is ready, and no other is to take its place.
    var isServing: Bool { isReady && replacedBy == nil }

    /// Whether it takes requests, or soon will.
    var isUsable: Bool {
        switch engine.phase {
        case .connecting, .handshaking, .ready: true
        case .draining, .closed: false
        }
    }
}
