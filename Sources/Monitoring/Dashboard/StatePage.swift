import APNs
import Core
import Decoding
import Pipeline
import Runtime

/// The content of `/state`: one JSON object with all data of the dashboard, see `docs/reference/state.md`.
///
/// Totals count since the start of each worker, over all workers, as in `/metrics`: clients compute rates from
/// differences.
package struct StatePage {
    private let seen: ProcessSnapshot
    private let snapshots: [WorkerSnapshot]
    private let health: Health

    package static func render(_ processSnapshot: ProcessSnapshot) -> [UInt8] {
        Array((JSONOutput.object(StatePage(processSnapshot).members).description + "\n").utf8)
    }

    private init(_ processSnapshot: ProcessSnapshot) {
        seen = processSnapshot
        snapshots = processSnapshot.snapshots
        health = Health(processSnapshot)
    }

    private var members: [(String, JSONOutput)] {
        [
            ("version", .text(Version.text)), ("host", .text(WorkerName.host)), ("time", .text(seen.at.wall.inUTC)),
            // Monotonic, so that clock changes do not distort rates.
            ("clock_seconds", .seconds(seen.at.instant - Instant(nanoseconds: 0))),
            ("ready", .boolean(health.isReady)), ("missing", .array(health.missing.map { .text($0) })),
            ("problems", health.problemsJSON), ("waiting", waiting),
            ("blocked", .boolean(health.isBlocked)), ("publishing", .integer(health.publishing)),
            ("standstill", .integer(snapshots.count(where: \.isSuspended))),
            ("unsettled", .integer(snapshots.reduce(0) { $0 + $1.counters.unsettled })),
            ("unconfirmed", .integer(snapshots.reduce(0) { $0 + $1.counters.unconfirmed })),
            ("oldest_unsettled_seconds", .seconds(snapshots.map(\.longestUnsettled).max() ?? .zero)),
            ("totals", totals), ("notifications", notifications), ("latency", latency),
            ("workers", .array(seen.workers.enumerated().map(worker))), ("queues", .array(health.queues.map(queue))),
            ("apps", .array(health.apps.map(app))), ("pools", .array(pools)), ("decoders", .array(decoders)),
        ]
    }

    /// What waits, by what it waits for; notifications in flight at APNs are not part of it.
    private var waiting: JSONOutput {
        let depths = health.queues.compactMap { snapshots.messages[$0.name] }
        let pools = snapshots.flatMap(\.pools)
        let pauses = health.apps.flatMap(\.pauses)
        func sum(_ pools: [WorkerSnapshot.Pool]) -> Int { pools.reduce(0) { $0 + $1.statistics.waiting } }
        return .object([
            ("queue", depths.isEmpty ? .null : .integer(depths.reduce(0) { $0 + Int($1) })),
            ("paused", .integer(pauses.reduce(0) { $0 + $1.held })),
            ("connection", .integer(sum(pools.filter { $0.statistics.ready == 0 }))),
            ("limits", .integer(sum(pools.filter { $0.statistics.ready > 0 }))),
            ("pace", .integer(snapshots.flatMap(\.queues).reduce(0) { $0 + ($1.paceWaiting ?? 0) })),
            ("decoder", .integer(snapshots.flatMap(\.processes).reduce(0) { $0 + $1.waiting })),
            ("confirm", .integer(snapshots.reduce(0) { $0 + $1.counters.unconfirmed })),
        ])
    }

    // MARK: Totals

    private func sum(_ value: (PipelineCounters) -> UInt64) -> JSONOutput {
        .count(snapshots.reduce(0) { $0 &+ value($1.counters) })
    }

    private var totals: JSONOutput {
        .object([
            ("deliveries", sum { $0.deliveries.reduce(0, &+) }), ("retries", sum { $0[.retries] }),
            ("parked", sum { $0[.parked] }),
            ("uncertain", sum { $0[.uncertain] }), ("duplicates_avoided", sum { $0[.duplicatesAvoided] }),
            ("dead_letters", sum { $0[.deadLetters] }), ("requeued", sum { $0[.requeued] }),
            ("ignored", sum { $0[.ignored] }),
        ])
    }

    private var notifications: JSONOutput {
        let totals = snapshots.notifications
        return .array(
            totals.map { key, count in
                .object([
                    ("topic", .optional(key.app?.topic)), ("environment", .optional(key.app?.environment.rawValue)),
                    ("push_type", .optional(key.pushType?.name.description)),
                    ("outcome", .text(key.outcome.name.description)), ("reason", .optional(key.reason?.rawValue)),
                    ("total", .count(count)),
                ])
            })
    }

    private var latency: JSONOutput {
        var timings = Timings()
        for snapshot in snapshots { timings.add(snapshot.timings) }
        func object(_ histogram: Histogram) -> JSONOutput {
            .object([
                ("counts", .array(histogram.counts.map { .count($0) })),
                ("sum_seconds", .number(Double(histogram.sum) / 1e9)),
            ])
        }
        return .object([
            ("bounds_seconds", .array(Histogram.bounds.map { .number(Double($0) / 1e9) })),
            ("request", object(timings.request)), ("queue_wait", object(timings.queueWait)),
            ("limiter_wait", object(timings.limiterWait)), ("apns", object(timings.apns)),
        ])
    }

    // MARK: Parts

    private func worker(_ index: Int, _ worker: ProcessSnapshot.Worker) -> JSONOutput {
        .object([
            ("name", .text(WorkerName.text(index: index))), ("alive", .boolean(worker.isAlive)),
            ("ended", .boolean(worker.hasEnded)), ("draining", .boolean(worker.snapshot?.isDraining ?? false)),
            ("silence_seconds", .seconds(worker.silence)),
            ("unsettled", .integer(worker.snapshot?.counters.unsettled ?? 0)),
            ("unconfirmed", .integer(worker.snapshot?.counters.unconfirmed ?? 0)),
        ])
    }

    private func queue(_ queue: Health.Queue) -> JSONOutput {
        var deliveries: UInt64 = 0
        var (prefetch, inForce) = (0, 0)
        for snapshot in snapshots {
            for (index, known) in snapshot.queues.enumerated() where known.name == queue.name {
                deliveries &+= snapshot.counters.deliveries[index]
                prefetch += Int(known.prefetch)
                inForce += Int(known.prefetchInForce)
            }
        }
        return .object([
            ("name", .text(queue.name)), ("consumers", .integer(queue.consumers)), ("deliveries", .count(deliveries)),
            ("prefetch", .integer(prefetch)), ("prefetch_in_force", .integer(inForce)),
            ("messages", snapshots.messages[queue.name].map { .integer(Int($0)) } ?? .null),
        ])
    }

    private func app(_ app: Health.App) -> JSONOutput {
        let credential = seen.credentials.first { $0.app == app.name }
        return .object(
            app.members + [
                ("credential", .optional(credential.map { $0.expiresIn == nil ? "provider-token" : "certificate" })),
                ("provider_token_age_seconds", .optional(credential?.tokenAge)),
                ("certificate_expires_in_seconds", credential?.expiresIn.map { .integer(Int($0)) } ?? .null),
            ])
    }

    private var decoders: [JSONOutput] {
        let processes = snapshots.flatMap(\.processes)
        // Every worker has the same ones.
        let names = snapshots.first?.processes.map(\.name) ?? []
        return names.map { name in
            let all = processes.filter { $0.name == name }
            let failure = all.lazy.filter { $0.outage != nil }.compactMap(\.lastFailure).first
            let isWorking = all.allSatisfy { $0.outage == nil }
            return .object([
                ("name", .text(name)),
                ("state", .text(failure != nil ? "down" : isWorking ? "working" : "starting")),
                ("problem", .optional(failure)), ("waiting", .integer(all.reduce(0) { $0 + $1.waiting })),
                ("restarts", .count(all.reduce(0) { $0 &+ $1.counters.restarts })),
                ("quarantined", .count(all.reduce(0) { $0 &+ $1.counters.quarantined })),
            ])
        }
    }

    private var pools: [JSONOutput] {
        seen.workers.enumerated().flatMap { index, worker in
            guard let snapshot = worker.snapshot, !worker.hasEnded else { return [JSONOutput]() }
            return snapshot.pools.map { pool in
                let goaway = pool.statistics.lastGoaway.map {
                    JSONOutput.object([
                        ("reason", .text($0.reason)), ("seconds_ago", .seconds(snapshot.takenAt.instant - $0.at)),
                    ])
                }
                return .object([
                    ("worker", .integer(index)), ("topic", .optional(pool.app?.topic)),
                    ("environment", .optional(pool.app?.environment.rawValue)),
                    ("traffic", .optional(pool.traffic?.description)),
                    ("endpoint", .text("\(pool.endpoint)")),
                    ("maximum_connections", .integer(pool.maximumConnections)),
                    ("waiting", .integer(pool.statistics.waiting)),
                    ("goaways", .integer(pool.statistics.counters.goaways.values.reduce(0, +))),
                    ("last_goaway", goaway ?? .null),
                    ("connections", .array(pool.statistics.connections.map(\.json))),
                ])
            }
        }
    }
}

extension PoolStatistics.Connection {
    fileprivate var json: JSONOutput {
        .object([
            ("number", .integer(Int(serial))), ("phase", .text("\(phase)")),
            ("authenticated", .boolean(isAuthenticated)), ("streams", .integer(streams)),
            ("maximum_streams", .integer(maximumStreams)), ("permits", .integer(permits)), ("burst", .integer(burst)),
            ("permits_per_second", .integer(permitsPerSecond)), ("age_seconds", .optional(age)),
            ("goaway", .optional(goaway)),
        ])
    }
}

extension JSONOutput {
    fileprivate static func count(_ count: UInt64) -> JSONOutput {
        .integer(Int(clamping: count))
    }

    fileprivate static func optional(_ duration: Duration?) -> JSONOutput {
        duration.map { .seconds($0) } ?? .null
    }

    /// In seconds, with millisecond precision.
    fileprivate static func seconds(_ duration: Duration) -> JSONOutput {
        .number(Double(duration.nanoseconds / 1_000_000) / 1000)
    }
}
