package import Core

/// A pool's individual connections, for the dashboard. Created only on request.
package struct PoolSnapshot: Sendable {
    package struct Connection: Sendable {
        /// Numbers the pool's connections in the order of dialling.
        package var serial: UInt32
        package var phase: APNsConnectionMachine.Phase
        /// Whether APNs has accepted the credential on it.
        package var isAuthenticated: Bool
        /// Requests in flight.
        package var streams: Int
        /// The current stream limit; 0 before it is ready.
        package var maximumStreams: Int
        package var permits: Int
        package var burst: Int
        /// Permits per second: fewer than configured while too many requests are refused.
        package var permitsPerSecond: Int
        /// The time since it became ready.
        package var age: Duration?
        /// APNs' GOAWAY, if it has sent one.
        package var goaway: String?
    }

    package struct Goaway: Sendable {
        /// Its reason, otherwise the name of HTTP/2's code.
        package var reason: String
        package var at: Instant
    }

    package var connections: [Connection]
    /// The newest GOAWAY on any of the pool's connections; most of these close soon afterwards.
    package var lastGoaway: Goaway?
}

extension APNsPool {
    package func snapshot(at now: Instant) -> PoolSnapshot {
        PoolSnapshot(
            connections: connections.map { connection in
                PoolSnapshot.Connection(
                    serial: connection.serial, phase: connection.engine.phase,
                    isAuthenticated: connection.isReady && !connection.engine.awaitsAuthentication,
                    streams: connection.engine.inFlight,
                    maximumStreams: connection.trial.readyAt == nil ? 0 : connection.engine.maximumConcurrentStreams,
                    permits: connection.limiter.available(at: now), burst: connection.limiter.burst,
                    permitsPerSecond: connection.limiter.perSecond, age: connection.trial.readyAt.map { now - $0 },
                    goaway: connection.engine.ending.goaway?.text)
            }, lastGoaway: lastGoaway)
    }
}
