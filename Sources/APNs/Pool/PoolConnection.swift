import Core

/// One of a pool's connections: its engine, its token bucket, and the pool's records about it.
final class PoolConnection {
    let link: APNsLink
    /// Numbers the pool's connections in the order of dialling.
    let serial: UInt32
    var limiter: RateLimiter
    var brake: ErrorBrake
    var trial = ConnectionTrial()
    var streamCut = StreamCut()
    /// Whether a request was sent on it, which binds it to that request's team, key and bundle ID.
    var isBound = false
    /// Whether its first request was not answered in time.
    var isWarmUpOver = false
    var respondedAt: Instant?
    /// It retires as soon as a connection with this serial or a later one is ready.
    var replacedBy: UInt32?
    /// Consecutive `InternalServerError` responses.
    var serverErrors = 0
    var isClosed = false

    init(engine: consuming APNsEngine, serial: UInt32, limiter: RateLimiter, brake: ErrorBrake) {
        link = APNsLink(engine)
        self.serial = serial
        self.limiter = limiter
        self.brake = brake
    }

    var engine: APNsEngine {
        _read { yield link.engine }
        _modify { yield &link.engine }
    }

    var isReady: Bool { engine.phase == .ready }

    /// Whether the pool relies on it: it is ready and is not being replaced.
    var isServing: Bool { isReady && replacedBy == nil }

    /// Whether it accepts requests, or soon will.
    var isUsable: Bool { engine.phase < .draining }
}
