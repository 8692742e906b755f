import AMQP
package import APNs
package import Core
package import Decoding
package import Pipeline

/// The figures of a worker at one moment, for monitoring.
/// It is flat because each property is one of those numbers.
package struct WorkerSnapshot: Sendable {
    package struct Queue: Sendable {
        package let name: String
        package let prefetch: UInt16
        /// The current prefetch: smaller after a start, and while no app can send.
        package let prefetchInForce: UInt16
        package let isConsuming: Bool
        /// The queue depth at the last count; `nil` before the first response.
        package let messages: UInt32?
        /// The notifications that wait for its rate limit; `nil` without a limit.
        package let paceWaiting: Int?
    }

    package struct App: Sendable {
        package let name: AppName
        /// Connections for its notifications, and the number on which APNs has accepted the credential.
        package let connections: Int
        package let authenticated: Int
        /// Why there is no connection.
        package let outage: Outage?
    }

    package struct Pool: Sendable {
        /// The first configured app that uses it; `nil` if none does any more.
        package let app: AppName?
        /// The requests of that app that it carries: `notifications` (possibly all) or `channels`.
        package let traffic: StaticString?
        package let endpoint: Endpoint
        package let maximumConnections: Int
        package let statistics: PoolStatistics
    }

    /// A decoder that is a program.
    package struct Process: Sendable {
        package let name: String
        /// Those that it decodes.
        package let queues: [String]
        /// Why it decodes nothing; `nil` while it does.
        package let outage: Outage?
        /// The reason of the last failure; `nil` before the first.
        package let lastFailure: String?
        /// Messages without a response.
        package let waiting: Int
        package let counters: DecoderProgram.Counters
    }

    package let takenAt: Moment
    package let isDraining: Bool
    package let counters: PipelineCounters
    package let timings: Timings
    package let tally: NotificationTally
    /// The tally's apps, by number.
    package let names: [AppName]
    /// The time since the arrival of the oldest unsettled delivery.
    package let longestUnsettled: Duration
    package let queues: [Queue]
    /// Nothing is consumed because no app can send.
    package let isSuspended: Bool
    package let isPublisherOpen: Bool
    /// The destinations of the configuration that do not take publishes.
    package let troubled: [TroubledDestination]
    /// Why the broker blocks publishing; `nil` while it does not.
    package let blocked: String?
    /// The broker connections that are not open.
    package let outages: [BrokerPurpose: Outage]
    /// In the configuration's order.
    package let apps: [App]
    package let pools: [Pool]
    /// The sum of all pools, removed ones included.
    package let poolCounters: PoolCounters
    package let paused: [PausedTopic]
    package let processes: [Process]
    /// Log lines that were suppressed because of their number, or dropped by a full standard error.
    package let suppressedLogLines: UInt64
}

extension [WorkerSnapshot] {
    /// The depth of each queue. All workers see the same queues; the newest snapshot counts.
    package var messages: [String: UInt32] {
        sorted { $0.takenAt.instant < $1.takenAt.instant }.flatMap(\.queues).reduce(into: [:]) { newest, queue in
            if let messages = queue.messages { newest[queue.name] = messages }
        }
    }
}

extension Worker {
    /// Takes time in proportion to the requests in flight, connections and configured apps; the message path only pays
    /// for this call.
    package func snapshot(at now: Moment) -> WorkerSnapshot {
        let apps = pipeline.configured.map { pipeline.app(in: $0) }
        var statistics: [PoolID: PoolStatistics] = [:]
        for number in pools.roster.numbers {
            statistics[number] = pools[number].statistics(at: now.instant)
            statistics[number]?.waiting += pipeline.waiting.heldCount(forConnectionOf: number)
        }
        var poolCounters = pools.formerCounters
        for pool in statistics.values { poolCounters.add(pool.counters) }
        let troubled = pipeline.troubled { consumer.isMissing($0) }
        return WorkerSnapshot(
            takenAt: now, isDraining: drain.stage != .running, counters: pipeline.counters, timings: pipeline.timings,
            tally: pipeline.tally, names: pipeline.waiting.table.apps.map(\.name),
            longestUnsettled: pipeline.requests.map { now.instant - $0.arrived.instant }.max() ?? .zero,
            queues: pipeline.settings.queues.enumerated().map { index, queue in
                // Deliveries may wait because the broker cannot be asked what kind of queue it is.
                WorkerSnapshot.Queue(
                    name: queue.name, prefetch: queue.prefetch, prefetchInForce: prefetch(inForceOf: QueueID(index)),
                    isConsuming: queues[index].isConsuming
                        && !(queues[index].suspicion.isOpen && outages[.inquiring] != nil),
                    messages: consumer.messages(queue: QueueID(index)),
                    paceWaiting: pipeline.paceWaiting(ofQueue: index))
            },
            isSuspended: pipeline.reachability.isSuspended, isPublisherOpen: isPublisherOpen,
            troubled: troubled,
            blocked: isBlocked ? blocked ?? "" : nil, outages: outages,
            apps: apps.map { app in
                let pool = app.pools.notifications
                return WorkerSnapshot.App(
                    name: app.name, connections: statistics[pool]?.ready ?? 0,
                    authenticated: statistics[pool]?.authenticated ?? 0, outage: pools[pool].outage)
            },
            pools: statistics.sorted { $0.key < $1.key }.map { number, statistics in
                let app = apps.first { $0.pools.all.contains(number) }
                return WorkerSnapshot.Pool(
                    app: app?.name,
                    traffic: app.map { number == $0.pools.notifications ? "notifications" : "channels" },
                    endpoint: pools[number].configuration.engine.endpoint,
                    maximumConnections: pools[number].configuration.connections.upperBound, statistics: statistics)
            },
            poolCounters: poolCounters, paused: pipeline.waiting.paused,
            processes: decoders.enumerated().map { index, decoder in
                WorkerSnapshot.Process(
                    name: decoder.name,
                    queues: pipeline.settings.queues.filter { $0.process == index }.map(\.name),
                    outage: decoder.outage, lastFailure: decoder.lastFailure, waiting: decoder.waiting,
                    counters: decoder.counters)
                // Those of the process count once.
            }, suppressedLogLines: logThrottle.suppressed + (index == 0 ? LineLogHandler.droppedLines : 0))
    }
}
