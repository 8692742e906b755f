import APNs
import Admin
import Core
import Decoding
import Pipeline
import Runtime

/// The content of `/metrics`.
package struct MetricsPage {
    private var text = PrometheusText()
    private let seen: ProcessSnapshot
    private let snapshots: [WorkerSnapshot]

    /// In Prometheus' text format.
    package static func render(_ processSnapshot: ProcessSnapshot) -> [UInt8] {
        var page = MetricsPage(processSnapshot)
        page.writeRequests()
        page.writeTimings()
        page.writeResults()
        page.writeConnections()
        page.writeApps()
        page.writeLimits()
        page.writeAdmin()
        page.writeProcess()
        return page.text.bytes
    }

    private init(_ processSnapshot: ProcessSnapshot) {
        seen = processSnapshot
        snapshots = processSnapshot.snapshots
    }

    // MARK: Families

    /// An unknown value has no sample.
    private mutating func write(_ metric: Metric, _ value: PrometheusText.Value?) {
        text.begin(metric)
        if let value { text.sample([], value) }
    }

    /// A sum over the workers.
    private mutating func write(_ metric: Metric, sum value: (WorkerSnapshot) -> UInt64) {
        write(metric, .count(snapshots.reduce(0) { $0 &+ value($1) }))
    }

    private mutating func write(_ metric: Metric, sum value: (WorkerSnapshot) -> Int) {
        write(metric, .integer(snapshots.reduce(0) { $0 + value($1) }))
    }

    /// One sample for each combination of labels, in order.
    private mutating func write(_ metric: Metric, _ values: [[String]: PrometheusText.Value]) {
        text.begin(metric)
        for (labels, value) in values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            text.sample(labels, value)
        }
    }

    /// Writes one sample for each combination of labels: the sum of its values.
    private mutating func write(_ metric: Metric, sums parts: [(labels: [String], value: Int)]) {
        let sums = Dictionary(parts.map { ($0.labels, $0.value) }, uniquingKeysWith: +)
        write(metric, sums.mapValues { .integer($0) })
    }

    private mutating func write(_ metric: Metric, sums parts: [(label: String, value: Int)]) {
        write(metric, sums: parts.map { ([$0.label], $0.value) })
    }

    private mutating func write(_ metric: Metric, perQueue value: (WorkerSnapshot, Int) -> Int) {
        let parts = snapshots.flatMap { snapshot in
            snapshot.queues.enumerated().map { ($1.name, value(snapshot, $0)) }
        }
        write(metric, sums: parts)
    }

    private mutating func write(_ metric: Metric, perApp value: (WorkerSnapshot.Pool) -> Int) {
        write(metric, sums: snapshots.flatMap(\.pools).compactMap { pool in pool.app.map { ($0.labels, value(pool)) } })
    }

    private mutating func write(
        _ metric: Metric, perCredential value: (ProcessSnapshot.Credential) -> PrometheusText.Value?
    ) {
        let values = seen.credentials.compactMap { one in value(one).map { (one.app.labels, $0) } }
        write(metric, Dictionary(values) { first, _ in first })
    }

    private mutating func write(_ metric: Metric, perProcess value: (WorkerSnapshot.Process) -> Int) {
        write(metric, sums: snapshots.flatMap(\.processes).map { ($0.name, value($0)) })
    }

    private mutating func write(_ metric: Metric, pools name: PoolCounters.Name) {
        write(metric, sum: { $0.poolCounters[name] })
    }

    // MARK: Groups

    private mutating func writeRequests() {
        write(.deliveries, perQueue: { Int($0.counters.deliveries[$1]) })
        text.begin(.notifications)
        for (key, count) in snapshots.notifications { text.sample(key.labels, .count(count)) }
        write(.ignored, sum: { $0.counters[.ignored] })
        text.begin(.decodingLimits)
        for limit in DecodingLimit.allCases {
            let count = snapshots.reduce(0) { $0 &+ $1.counters.decodingLimits[Int(limit.rawValue)] }
            text.sample([limit.name.description], .count(count))
        }
        write(.decoderRunning, perProcess: { $0.isWorking ? 1 : 0 })
        write(.decoderWaiting, perProcess: { $0.waiting })
        write(.decoderRestarts, perProcess: { Int($0.counters.restarts) })
        write(.decoderQuarantined, perProcess: { Int($0.counters.quarantined) })
        write(.payloadFindings, sum: { $0.counters[.payloadFindings] })
        write(.unknownReasons, sum: { $0.counters[.unknownReasons] })
    }

    private mutating func writeTimings() {
        var timings = Timings()
        for snapshot in snapshots { timings.add(snapshot.timings) }
        let histograms: [(Metric, Histogram)] = [
            (.request, timings.request), (.queueWait, timings.queueWait), (.limiterWait, timings.limiterWait),
            (.apns, timings.apns),
        ]
        for (metric, histogram) in histograms {
            text.begin(metric)
            text.sample([], histogram)
        }
    }

    private mutating func writeResults() {
        text.begin(.retries)
        let pools = snapshots.map(\.poolCounters)
        text.sample(["backoff"], .count(snapshots.reduce(0) { $0 + $1.counters[.retries] }))
        text.sample(["parked"], .count(snapshots.reduce(0) { $0 + $1.counters[.parked] }))
        text.sample(["resend"], .integer(pools.reduce(0) { $0 + $1[.resends] }))
        text.sample(["token"], .integer(pools.reduce(0) { $0 + $1[.renewals] + $1[.rebinds] }))
        write(.duplicatesAvoided, sum: { $0.counters[.duplicatesAvoided] })
        write(.uncertain, sum: { $0.counters[.uncertain] })
        write(.deadLetters, sum: { $0.counters[.deadLetters] })
        write(.returned, sum: { $0.counters[.returned] })
        write(.refusedPublishes, sum: { $0.counters[.refusedPublishes] })
        write(.divertedResults, sum: { $0.counters[.divertedResults] })
        write(.refusingQueues, sums: snapshots.flatMap(\.refusing.since.keys).map { ($0.name, 1) })
        write(.quarantined, sum: { $0.counters[.quarantined] })
        write(.unsettled, sum: { $0.counters.unsettled })
        write(.oldestUnsettled, .duration(snapshots.map(\.longestUnsettled).max() ?? .zero))
        write(.unconfirmed, sum: { $0.counters.unconfirmed })
        write(.consuming, perQueue: { $0.queues[$1].isConsuming ? 1 : 0 })
        write(.publishing, sum: { $0.isPublisherOpen ? 1 : 0 })
        write(.brokerBlocked, .integer(snapshots.contains(where: \.isBlocked) ? 1 : 0))
        write(.secretExpiry, seen.passwordExpiresIn.map { .integer(Int($0)) })
    }

    private mutating func writeConnections() {
        let pools = snapshots.flatMap(\.pools).compactMap { pool in pool.app.map { ($0.labels, pool.statistics) } }
        write(
            .connectionCount,
            sums: pools.flatMap { app, count in
                [
                    (app + ["connecting"], count.connecting), (app + ["draining"], count.draining),
                    (app + ["ready"], count.ready),
                ]
            })
        write(.streams, perApp: { $0.statistics.streams })
        write(.maximumConcurrentStreams, perApp: { $0.statistics.maximumConcurrentStreams })
        write(.permits, perApp: { $0.statistics.permits })
        write(.waiting, perApp: { $0.statistics.waiting })
        let counters = snapshots.map(\.poolCounters)
        write(.goaways, sums: counters.flatMap(\.goaways).map { ($0.key, $0.value) })
        write(.disconnects, sums: counters.flatMap(\.disconnects).map { ($0.key, $0.value) })
        let hits = counters.flatMap { counters in
            PoolCounters.Name.allCases.compactMap { name in name.limit.map { ($0, counters[name]) } }
        }
        write(.limitHits, sums: hits)
        write(.connects, pools: .connects)
        write(.connectFailures, pools: .failures)
        write(.braked, perApp: { $0.statistics.braked })
        write(.throttledNotifications, pools: .throttledNotifications)
        write(.throttledDevices, perApp: { $0.statistics.throttledDevices })
    }

    private mutating func writeApps() {
        let paused = snapshots.flatMap(\.paused)
        var samples: [[String]: PrometheusText.Value] = [:]
        for topic in paused { samples[topic.labels + [topic.cause.label]] = .integer(1) }
        for app in seen.credentials.map(\.app) where !paused.contains(where: { $0.labels == app.labels }) {
            samples[app.labels + [""]] = .integer(0)
        }
        write(.appPaused, samples)
        write(.held, sums: paused.map { ($0.labels, $0.held) })
        write(.certificateExpiry, perCredential: { $0.expiresIn.map { .integer(Int($0)) } })
        write(.providerTokenAge, perCredential: { $0.tokenAge.map { .duration($0) } })
    }

    private mutating func writeLimits() {
        write(.prefetch, perQueue: { Int($0.queues[$1].prefetch) })
        write(
            .paceWaiting,
            sums: snapshots.flatMap(\.queues).compactMap { queue in queue.paceWaiting.map { (queue.name, $0) } })
        write(.messages, sums: snapshots.messages.map { ($0.key, Int($0.value)) })
        write(.standstill, sum: { $0.isSuspended ? 1 : 0 })
        write(.workers, .integer(seen.workers.count))
        text.begin(.workerSilence)
        for (index, worker) in seen.workers.enumerated() { text.sample(["\(index)"], .duration(worker.silence)) }
        write(.suppressedLogLines, sum: { $0.suppressedLogLines })
        write(.spans, [["dropped"]: .count(seen.spans.dropped), ["exported"]: .count(seen.spans.exported)])
    }

    private mutating func writeAdmin() {
    }

    private mutating func writeProcess() {
        text.begin(.buildInfo)
        text.sample([Version.text], .integer(1))
        write(.cpu, seen.process.cpu.map { .duration($0) })
        write(.residentMemory, seen.process.residentBytes.map { .integer($0) })
        write(.openDescriptors, seen.process.openDescriptors.map { .integer($0) })
        write(.maximumDescriptors, seen.process.maximumDescriptors.map { .integer($0) })
        write(.startTime, seen.process.startedAt.map { .duration(.milliseconds($0.milliseconds)) })
    }
}

extension [WorkerSnapshot] {
    /// The ended notifications of all workers, in the order of their labels.
    var notifications: [(key: NotificationTally.Key, count: UInt64)] {
        var totals: [NotificationTally.Key: UInt64] = [:]
        for snapshot in self { snapshot.tally.add(to: &totals) { snapshot.names[$0.index] } }
        return totals.map { ($0, $1) }.sorted { $0.0.labels.lexicographicallyPrecedes($1.0.labels) }
    }
}

extension NotificationTally.Key {
    fileprivate var labels: [String] {
        (app?.labels ?? ["", ""]) + [
            pushType?.name.description ?? "", outcome.name.description, reason?.rawValue ?? "",
        ]
    }
}

extension AppName {
    fileprivate var labels: [String] { [topic, environment.rawValue] }
}

extension PausedTopic {
    fileprivate var labels: [String] { [topic, app.environment.rawValue] }
}

extension AppGate.Cause {
    /// A label value without numbers, to limit the number of series: APNs' reason if Apple documents it.
    package var label: String {
        switch self {
        case .credential(let reason), .topic(let reason):
            ResponseRule.isDocumented(reason) ? reason.rawValue : NotificationTally.unknownReason.rawValue
        case .deviceTokens: "device-tokens"
        }
    }
}
