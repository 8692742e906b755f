import AMQP
package import APNs
package import Core
package import Decoding
package import Pipeline

/// A worker in numbers, at one moment: what it tells those who watch.
/// It is flat because each property is one of those numbers.
package struct WorkerSnapshot: Sendable {
    package struct Queue: Sendable {
        package let name: String
        package let prefetch: UInt16
        /// What the broker may have delivered now: less after a start, and while no app can send.
        package let prefetchInForce: UInt16
        package let isConsuming: Bool
        /// What waited in it when it was last asked; `nil` if it has not answered yet.
        package let messages: UInt32?
        /// What its pace permits to be sent now, and what waits for that; `nil` where it has none.
        package let pace: (permits: Int, waiting: Int)?
    }

    package struct App: Sendable {
        package let name: AppName
        /// Connections that its notifications may take, and of these the ones on which APNs has taken the credential.
        package let connections: Int
        package let authenticated: Int
    }

    package struct Pool: Sendable {
        /// The first of the configured apps that use it; `nil` once none does.
        package let app: AppName?
        /// What it carries of that app: `notifications` (which may be all), `broadcasts` or `channels`.
        package let cargo: StaticString?
        package let endpoint: Endpoint
        package let maximumConnections: Int
        package let statistics: PoolStatistics
        package let picture: PoolPicture
    }

    /// A decoder that is a program.
    package struct Process: Sendable {
        package let name: String
        package let isWorking: Bool
        /// Messages without an answer.
        package let waiting: Int
        package let counters: DecoderProcess.Counters
    }

    package let takenAt: Moment
    package let isDraining: Bool
    package let counters: PipelineCounters
    package let timings: Timings
    package let tally: NotificationTally
    /// The tally's apps, by their number.
    package let names: [AppName]
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
    /// Requests whose results wait for a reply queue that refuses them.
    package let refused: Int
    package let refusing: RefusingDestinations
    /// The broker takes no publishes.
    package let isBlocked: Bool
    package let secretRenewals: SecretRenewals
    /// In the configuration's order.
    package let apps: [App]
    package let pools: [Pool]
    /// What the pools did that are not there any more.
    package let formerPools: PoolCounters
    package let paused: [PausedTopic]
    package let processes: [Process]
    /// Lines that its log did not get because of their number.
    package let suppressedLogLines: UInt64

    /// How long the delivery has been unsettled that has been for longest.
    package var longestUnsettled: Duration {
        oldestUnsettled.map { takenAt.instant - $0 } ?? .zero
    }

    /// Everything that was done to connections with APNs.
    package var poolCounters: PoolCounters {
        var sum = formerPools
        for pool in pools { sum.add(pool.statistics.counters) }
        return sum
    }
}

/// What the broker said to new passwords on open connections.
package struct SecretRenewals: Sendable {
    package var renewed: UInt64 = 0
    package var refused: UInt64 = 0
}

extension [WorkerSnapshot] {
    /// Messages that wait in each queue. Every worker is told the same number, some of them later than others.
    package var messages: [String: UInt32] {
        sorted { $0.takenAt.instant < $1.takenAt.instant }.flatMap(\.queues).reduce(into: [:]) { newest, queue in
            if let messages = queue.messages { newest[queue.name] = messages }
        }
    }
}

extension Worker {
    /// When the delivery arrived that has been unsettled for longest; `nil` if there is none.
    private var oldestArrival: Instant? {
        (intake.requests + dispatch.requests + outbox.requests).map(\.arrived.instant).min()
    }

    /// Takes time in proportion to what is in flight, connected and configured, and nothing from the message path but
    /// that.
    package func snapshot(at now: Moment) -> WorkerSnapshot {
        let apps = dispatch.configured.map { dispatch.app(in: $0) }
        var timings = intake.timings
        timings.add(dispatch.timings)
        let statistics = pools.roster.pools.map { $0?.statistics(at: now.instant) }
        return WorkerSnapshot(
            takenAt: now, isDraining: drain.stage != .running, counters: counters, timings: timings,
            tally: outbox.tally, names: dispatch.gates.table.apps.map(\.name),
            oldestUnsettled: oldestArrival,
            queues: intake.settings.queues.enumerated().map { index, queue in
                WorkerSnapshot.Queue(
                    name: queue.name, prefetch: queue.prefetch, prefetchInForce: prefetch(inForceOf: QueueID(index)),
                    isConsuming: queues[index].isConsuming, messages: messages(inQueue: QueueID(index)),
                    pace: dispatch.pace(ofQueue: index, at: now.instant))
            },
            isSuspended: dispatch.isSuspended, remembered: intake.remembered, orphans: intake.orphaned,
            suspects: outbox.suspects, isPublisherOpen: readiness.isPublisherOpen,
            refused: outbox.refused, refusing: outbox.refusing, isBlocked: isBlocked, secretRenewals: secretRenewals,
            apps: apps.map { app in
                let pool = statistics[app.pools.notifications.index]
                return WorkerSnapshot.App(
                    name: app.name, connections: pool?.ready ?? 0, authenticated: pool?.authenticated ?? 0)
            },
            pools: pools.roster.pools.indices.compactMap { number in
                guard let pool = pools.roster.pools[number], let statistics = statistics[number] else { return nil }
                let app = apps.first { $0.pools.all.contains(PoolID(number)) }
                return WorkerSnapshot.Pool(
                    app: app?.name, cargo: app?.cargo(of: PoolID(number)),
                    endpoint: pool.configuration.engine.endpoint,
                    maximumConnections: pool.configuration.connections.upperBound, statistics: statistics,
                    picture: pool.picture(at: now.instant))
            },
            formerPools: pools.formerCounters, paused: paused,
            processes: decoders.map {
                WorkerSnapshot.Process(
                    name: $0.name, isWorking: $0.isWorking, waiting: $0.waiting, counters: $0.counters)
            }, suppressedLogLines: logThrottle.suppressed)
    }
}

extension PipelineApp {
    fileprivate func cargo(of pool: PoolID) -> StaticString {
        if pool == pools.notifications { return "notifications" }
        return pool == pools.broadcasts ? "broadcasts" : "channels"
    }
}
