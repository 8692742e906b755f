package import Core

/// A pool's connections one by one, for the dashboard. Made only when somebody asks.
package struct PoolPicture: Sendable {
    package struct Connection: Sendable {
        /// Counts the pool's connections in the order in which they were dialled.
        package var serial: UInt32
        package var phase: ConnectionMachine.Phase
        /// Whether APNs has taken the credential on it.
        package var isAuthenticated: Bool
        /// Requests that wait for their answers.
        package var streams: Int
        /// Streams that APNs allows at once; 0 before it is ready.
        package var maximumStreams: Int
        package var permits: Int
        package var burst: Int
        /// Permits that come back each second: fewer than configured while too much is refused.
        package var permitsPerSecond: Int
        /// Since it is ready.
        package var age: Duration?
        /// Why APNs is leaving it.
        package var goaway: String?
    }

    package struct Goaway: Sendable {
        /// Its reason, else the name of HTTP/2's code.
        package var reason: String
        package var at: Instant
    }

    package var connections: [Connection]
    /// The newest one on any of the pool's connections; most of these are gone soon after.
    package var lastGoaway: Goaway?
}

extension APNsPool {
    package func picture(at now: Instant) -> PoolPicture {
        PoolPicture(
            connections: connections.map { connection in
                let engine = connection.engine
                return PoolPicture.Connection(
                    serial: connection.serial, phase: engine.phase,
                    isAuthenticated: engine.phase == .ready && !engine.awaitsAuthentication, streams: engine.inFlight,
                    maximumStreams: connection.trial.readyAt == nil ? 0 : engine.maximumConcurrentStreams,
                    permits: connection.limiter.available(at: now), burst: connection.limiter.burst,
                    permitsPerSecond: connection.limiter.perSecond, age: connection.trial.readyAt.map { now - $0 },
                    goaway: engine.ending.goaway?.text)
            }, lastGoaway: lastGoaway)
    }
}
