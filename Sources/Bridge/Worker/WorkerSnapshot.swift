import AMQP
package import APNs
package import Core

/// A worker in numbers, at one moment: what it tells those who watch.
package struct WorkerSnapshot: Sendable {
    package struct Queue: Sendable {
        package let name: String
        package let prefetch: UInt16
        /// What the broker may have delivered now: less after a start, and while no app can send.
        package let prefetchInForce: UInt16
        package let isConsuming: Bool
    }

    package struct App: Sendable {
        package let topic: String
        package let environment: Environment
        /// Connections that its notifications may take, and of these the ones on which APNs has taken the credential.
        package let connections: Int
        package let authenticated: Int
    }

    package struct Pool: Sendable {
        /// The first of the configured apps that use it; `nil` once none does.
        package let topic: String?
        package let environment: Environment?
        package let endpoint: Endpoint
        package let maximumConnections: Int
        package let statistics: PoolStatistics
    }

    package let takenAt: Moment
    package let isDraining: Bool
    package let counters: PipelineCounters
    package let timings: Timings
    package let tally: NotificationTally
    /// The topics of the tally's apps, by their number.
    package let topics: [String]
    /// When the delivery arrived that has been unsettled for longest.
    package let oldestUnsettled: Instant?
    package let queues: [Queue]
    /// Nothing is consumed, because no app can send.
    package let isSuspended: Bool
    /// What is kept in memory beside what is in flight.
    package let remembered: Int
    package let orphans: Int
    package let suspects: Int
    package let isPublisherOpen: Bool
    /// The broker takes no publishes.
    package let isBlocked: Bool
    /// In the configuration's order.
    package let apps: [App]
    package let pools: [Pool]
    /// What the pools did that are not there any more.
    package let formerPools: PoolCounters
    package let paused: [PausedTopic]

    /// Everything that was done to connections with APNs.
    package var poolCounters: PoolCounters {
        var sum = formerPools
        for pool in pools { sum.add(pool.statistics.counters) }
        return sum
    }
}

extension Worker {
    /// Takes time in proportion to what is in flight, connected and configured, and nothing from the message path but that.
    package func snapshot(at now: Moment) -> WorkerSnapshot {
        let apps = pipeline.apps.configured.map { pipeline.apps.apps[$0] }
        let statistics = roster.pools.map { $0?.statistics(at: now.instant) }
        return WorkerSnapshot(
            takenAt: now, isDraining: drain.stage != .running, counters: pipeline.counters, timings: pipeline.timings,
            tally: pipeline.tally, topics: pipeline.apps.apps.map { String(decoding: $0.topic, as: UTF8.self) },
            oldestUnsettled: pipeline.oldestArrival,
            queues: pipeline.settings.queues.enumerated().map { index, queue in
                WorkerSnapshot.Queue(
                    name: queue.name, prefetch: queue.prefetch, prefetchInForce: prefetch(inForceOf: index),
                    isConsuming: consuming[index])
            },
            isSuspended: pipeline.isSuspended, remembered: pipeline.completed.count, orphans: pipeline.orphans.count,
            suspects: pipeline.suspects.count, isPublisherOpen: isPublisherOpen, isBlocked: publisher.isBlocked,
            apps: apps.map { app in
                let pool = statistics[app.pools.notifications]
                return WorkerSnapshot.App(
                    topic: String(decoding: app.topic, as: UTF8.self), environment: app.environment,
                    connections: pool?.ready ?? 0, authenticated: pool?.authenticated ?? 0)
            },
            pools: roster.pools.indices.compactMap { number in
                guard let pool = roster.pools[number], let statistics = statistics[number] else { return nil }
                let app = apps.first { $0.pools.all.contains(number) }
                return WorkerSnapshot.Pool(
                    topic: app.map { String(decoding: $0.topic, as: UTF8.self) }, environment: app?.environment,
                    endpoint: pool.configuration.engine.endpoint,
                    maximumConnections: pool.configuration.connections.upperBound, statistics: statistics)
            },
            formerPools: formerPools, paused: paused)
    }
}
