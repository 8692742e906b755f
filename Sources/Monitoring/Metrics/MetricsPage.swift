import APNs
import Admin
import Core
import Decoding
import Pipeline
import Runtime

/// The content of `/metrics`: every metric with its sentence for the documentation and its value.
package struct MetricsPage {
    var text = PrometheusText()
    let seen: ProcessSnapshot
    let snapshots: [WorkerSnapshot]

    package static func render(_ processSnapshot: ProcessSnapshot) -> [UInt8] {
        MetricsPage(processSnapshot).text.bytes
    }

    init(_ processSnapshot: ProcessSnapshot) {
        seen = processSnapshot
        snapshots = processSnapshot.snapshots
        writeRequests()
        writeTimings()
        writeResults()
        writeBroker()
        writeConnections()
        writeApps()
        writeLimits()
        writeProcess()
    }

    private mutating func writeRequests() {
        write(
            .counter, "harebell_deliveries_total", "Deliveries received from a queue.",
            perQueue: { Int($0.counters.deliveries[$1]) })
        text.begin(
            Metric(
                "harebell_notifications_total", .counter,
                by: ["topic", "environment", "push_type", "outcome", "reason"],
                "Notifications by outcome; a reason that Apple does not document is `unknown`."))
        for (key, count) in snapshots.notifications { text.sample(key.labels, Double(count)) }
        write(.ignored, "harebell_ignored_total", "Messages that their decoder ignored; they have no result.")
        text.begin(
            Metric(
                "harebell_decoding_limits_total", .counter, by: ["limit"],
                "Messages beyond a limit of decoding: `body_bytes`, `json_depth` or `tokens`."))
        for limit in DecodingLimit.allCases {
            let count = snapshots.reduce(0) { $0 &+ $1.counters.decodingLimits[Int(limit.rawValue)] }
            text.sample([limit.name.description], Double(count))
        }
        write(
            .gauge, "harebell_decoder_running",
            "Worker threads whose process for a decoder is running and accepts messages.",
            perProcess: { $0.outage == nil ? 1 : 0 })
        write(
            .gauge, "harebell_decoder_waiting", "Messages without a response from a decoder's process.",
            perProcess: { $0.waiting })
        write(
            .counter, "harebell_decoder_restarts_total", "How often a decoder's process failed and was restarted.",
            perProcess: { Int($0.counters.restarts) })
        write(
            .counter, "harebell_decoder_quarantined_total",
            "Messages for which a decoder's process failed twice, with the message alone.",
            perProcess: { Int($0.counters.quarantined) })
        write(
            .payloadFindings, "harebell_payload_findings_total", "Payloads that deviate from Apple's tables of keys.")
        write(
            .unknownReasons, "harebell_unknown_reasons_total",
            "Responses with an undocumented reason, or without one.")
    }

    private mutating func writeTimings() {
        var timings = Timings()
        for snapshot in snapshots { timings.add(snapshot.timings) }
        write("harebell_request_seconds", "From a delivery's arrival to its settlement.", timings.request)
        write(
            "harebell_queue_wait_seconds", "From a message's AMQP timestamp, in whole seconds, to its delivery.",
            timings.queueWait)
        write(
            "harebell_limiter_wait_seconds", "From when a notification is ready to when it is sent.",
            timings.limiterWait)
        write("harebell_apns_seconds", "From when a notification is sent to the response of APNs.", timings.apns)
    }

    private mutating func writeResults() {
        text.begin(
            Metric(
                "harebell_retries_total", .counter, by: ["kind"],
                "Notifications sent again: `resend`, `backoff`, `parked`, or `token` (refused provider token)."
            ))
        let pools = snapshots.map(\.poolCounters)
        text.sample(["backoff"], Double(snapshots.reduce(0) { $0 + $1.counters[.retries] }))
        text.sample(["parked"], Double(snapshots.reduce(0) { $0 + $1.counters[.parked] }))
        text.sample(["resend"], Double(pools.reduce(0) { $0 + $1[.resends] }))
        text.sample(["token"], Double(pools.reduce(0) { $0 + $1[.renewals] + $1[.rebinds] }))
        write(
            .duplicatesAvoided, "harebell_duplicates_avoided_total",
            "Redeliveries of requests that this worker had finished or had in flight.")
        write(.uncertain, "harebell_uncertain_total", "Attempts that APNs may or may not have processed.")
        write(.deadLetters, "harebell_dead_letters_total", "Requests that became dead letters.")
        write(.returned, "harebell_returned_total", "Publishes that no queue received.")
        write(
            .refusedPublishes, "harebell_refused_publishes_total",
            "Publishes that the broker refused; each is retried.")
        write(
            .divertedResults, "harebell_diverted_results_total",
            "Results that went elsewhere because their queue refused or did not confirm them.")
        write(
            Metric(
                "harebell_queue_refusing", .gauge, by: ["destination", "cause"],
                "Worker threads that found that a configured queue takes no publishes: `refuses` or `missing`."),
            sums: snapshots.flatMap(\.troubled).map { ([$0.name, $0.isMissing ? "missing" : "refuses"], 1) })
        write(
            .quarantined, "harebell_quarantined_publishes_total",
            "Publishes that made the broker close the connection.")
    }

    private mutating func writeBroker() {
        write(.gauge, "harebell_unsettled", "Unsettled deliveries.", sum: { $0.counters.unsettled })
        write(
            .gauge, "harebell_oldest_unsettled_seconds", "Age of the oldest unsettled delivery.",
            (snapshots.map(\.longestUnsettled).max() ?? .zero).inSeconds)
        write(
            .gauge, "harebell_unconfirmed", "Results and dead letters that the broker has not confirmed.",
            sum: { $0.counters.unconfirmed })
        write(
            .gauge, "harebell_consuming", "Worker threads that consume from a queue.",
            perQueue: { $0.queues[$1].isConsuming ? 1 : 0 })
        write(
            .gauge, "harebell_publishing", "Worker threads whose publishing connection is open.",
            sum: { $0.isPublisherOpen ? 1 : 0 })
        write(
            .gauge, "harebell_broker_blocked", "1 while the broker blocks publishing.",
            snapshots.contains { $0.blocked != nil } ? 1 : 0)
        write(
            .gauge, "harebell_broker_secret_expiry_seconds",
            "Until the token in `broker.password_file` expires; negative afterwards.",
            seen.passwordExpiresIn.map { Double($0) })
    }

    private mutating func writeConnections() {
        let pools = snapshots.flatMap(\.pools).compactMap { pool in pool.app.map { ($0.labels, pool.statistics) } }
        write(
            Metric(
                "harebell_connections", .gauge, by: ["app", "environment", "state"],
                "Connections with APNs: `connecting`, `ready` or `draining`; of the first app that shares them."),
            sums: pools.flatMap { app, count in
                [
                    (app + ["connecting"], count.connecting), (app + ["draining"], count.draining),
                    (app + ["ready"], count.ready),
                ]
            })
        write(
            "harebell_streams", "Notifications in flight: sent, without a response yet.",
            perApp: { $0.statistics.streams })
        write(
            "harebell_max_concurrent_streams", "Streams that APNs allows at once on the ready connections.",
            perApp: { $0.statistics.maximumConcurrentStreams })
        write(
            "harebell_permits", "Permits in the token buckets of the ready connections.",
            perApp: { $0.statistics.permits })
        write(
            "harebell_waiting", "Notifications that wait for a permit, a stream or a connection.",
            perApp: { $0.statistics.waiting })
        let counters = snapshots.map(\.poolCounters)
        write(
            Metric(
                "harebell_goaways_total", .counter, by: ["reason"],
                "GOAWAY frames from APNs, by its reason or HTTP/2's code."),
            sums: counters.flatMap(\.goaways).map { ($0.key, $0.value) })
        write(
            Metric(
                "harebell_disconnects_total", .counter, by: ["code"],
                "Connections with APNs that ended, by cause; `none` is an orderly end."),
            sums: counters.flatMap(\.disconnects).map { ($0.key, $0.value) })
        let hits = counters.flatMap { counters in
            PoolCounters.Name.allCases.compactMap { name in name.limit.map { ($0, counters[name]) } }
        }
        let forgotten = snapshots.map { ("throttled_devices", Int($0.counters[.throttledDeviceLimitHits])) }
        write(
            Metric(
                "harebell_limit_hits_total", .counter, by: ["limit"],
                "How often a limit of the connections was reached."),
            sums: hits + forgotten)
        write(.connects, "harebell_connects_total", "Attempts to connect to APNs.")
        write(.failures, "harebell_connect_failures_total", "Connects to APNs that failed.")
        write(
            "harebell_braked_connections",
            "Connections that send less now, because APNs answers with many errors.",
            perApp: { $0.statistics.braked })
        write(
            .throttledNotifications, "harebell_throttled_total",
            "Notifications put into retry queues without being sent, because APNs throttles their device.")
    }

    private mutating func writeApps() {
        let paused = snapshots.flatMap(\.paused)
        var samples: [[String]: Double] = [:]
        for topic in paused { samples[topic.labels + [topic.cause.label]] = 1 }
        for app in seen.credentials.map(\.app) where !paused.contains(where: { $0.labels == app.labels }) {
            samples[app.labels + [""]] = 0
        }
        write(
            Metric(
                "harebell_app_paused", .gauge, by: ["topic", "environment", "cause"],
                "1 while an app or its topic is paused; `cause`: APNs' reason, `unknown` or `device-tokens`."),
            samples)
        write(
            Metric(
                "harebell_held", .gauge, by: ["topic", "environment"],
                "Notifications that wait for a paused app or topic."),
            sums: paused.map { ($0.labels, $0.held) })
        write(
            "harebell_certificate_expiry_seconds", "Until the app's certificate expires; negative afterwards.",
            perCredential: { $0.expiresIn.map { Double($0) } })
        write(
            "harebell_provider_token_age_seconds", "Since the app's provider token was signed.",
            perCredential: { $0.tokenAge?.inSeconds })
    }

    private mutating func writeLimits() {
        write(
            .gauge, "harebell_prefetch", "Deliveries of a queue that all worker threads together may hold.",
            perQueue: { Int($0.queues[$1].prefetch) })
        write(
            Metric(
                "harebell_queue_pace_waiting", .gauge, by: ["queue"],
                "Notifications that wait for the rate limit of their queue."),
            sums: snapshots.flatMap(\.queues).compactMap { queue in queue.paceWaiting.map { (queue.name, $0) } })
        write(
            Metric(
                "harebell_queue_messages", .gauge, by: ["queue"],
                "Queue depth at the last query: at most every 5 s, while a page or scrape asks for it."),
            sums: snapshots.messages.map { ($0.key, Int($0.value)) })
        write(
            .gauge, "harebell_standstill", "Worker threads that consume nothing because no app can send.",
            sum: { $0.isSuspended ? 1 : 0 })
        write(.gauge, "harebell_workers", "Worker threads.", Double(seen.workers.count))
        write(
            .gauge, "harebell_reload_failed",
            "1 while the old configuration stays in force, because a reload or a file that it names failed.",
            seen.reloadFailure == nil ? 0 : 1)
        text.begin(
            Metric(
                "harebell_worker_silence_seconds", .gauge, by: ["worker"],
                "Time since a worker thread last responded."))
        for (index, worker) in seen.workers.enumerated() { text.sample(["\(index)"], worker.silence.inSeconds) }
        write(
            .counter, "harebell_log_lines_suppressed_total",
            "Log lines that were dropped by the rate limit, or because standard error was full.",
            sum: { $0.suppressedLogLines })
        write(
            Metric(
                "harebell_spans_total", .counter, by: ["result"],
                "Spans of traces: `exported`, or `dropped` because the collector did not take them in time."),
            [["dropped"]: Double(seen.spans.dropped), ["exported"]: Double(seen.spans.exported)])
    }

    private mutating func writeProcess() {
        text.begin(Metric("harebell_build_info", .gauge, by: ["version"], "1, with the version as a label."))
        text.sample([Version.text], 1)
        write(
            .counter, "process_cpu_seconds_total", "CPU time of the process, user and system.",
            seen.process.cpu?.inSeconds)
        write(
            .gauge, "process_resident_memory_bytes", "Resident memory of the process.",
            seen.process.residentBytes.map { Double($0) })
        write(.gauge, "process_open_fds", "Open file descriptors.", seen.process.openDescriptors.map { Double($0) })
        write(
            .gauge, "process_max_fds", "Maximum number of file descriptors.",
            seen.process.maximumDescriptors.map { Double($0) })
        write(
            .gauge, "process_start_time_seconds", "Start time of the process, in seconds since 1970.",
            seen.process.startedAt.map { Double($0.milliseconds) / 1000 })
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

extension PausedTopic {
    fileprivate var labels: [String] { [topic, app.environment.rawValue] }
}

extension LaneGate.Cause {
    /// A label value without numbers, to limit the number of series: APNs' reason if Apple documents it.
    package var label: String {
        switch self {
        case .credential(let reason), .topic(let reason):
            ResponseRule.documented(reason) == nil ? NotificationTally.unknownReason.rawValue : reason.rawValue
        case .deviceTokens: "device-tokens"
        case .unreachable: "unreachable"
        }
    }
}
