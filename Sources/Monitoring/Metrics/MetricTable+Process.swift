import Admin
import Runtime

/// The metrics of limits, of the admin server and of the process.
extension Metric {
    // MARK: Limits

    static let limits = [
        prefetch, prefetchInForce, queuePermits, paceWaiting, messages, standstill, heldTooLong, requeued, remembered,
        orphans, suspects, workers,
        workerSilence, suppressedLogLines, spans,
    ]

    static let prefetch = Metric(
        "harebell_prefetch", .gauge, by: ["queue"], "Deliveries that all worker threads may hold of a queue.",
        advice: "`queues[].prefetch` for each worker thread: it bounds everything that waits in Harebell.")
    static let prefetchInForce = Metric(
        "harebell_prefetch_in_force", .gauge, by: ["queue"], "Deliveries that all worker threads may be given now.",
        advice: "Lower for a moment after a start; 0 or 1 while no app can send.")
    static let queuePermits = Metric(
        "harebell_queue_permits", .gauge, by: ["queue"],
        "Notifications that all worker threads could send at once by `queues[].rate_limit`; only of queues with one.",
        advice: "At 0 the pace is what limits.")
    static let paceWaiting = Metric(
        "harebell_queue_pace_waiting", .gauge, by: ["queue"], "Notifications that wait for the pace of their queue.",
        advice: "Near `harebell_prefetch` during a campaign.")
    static let messages = Metric(
        "harebell_queue_messages", .gauge, by: ["queue"],
        "Messages that wait in a queue, as it said when it was last asked: every 5 s at most, while somebody looks.",
        advice: "Growing: more workers, or see what holds these up. Unsettled ones are not among them.")
    static let standstill = Metric(
        "harebell_standstill", .gauge, "Worker threads that consume nothing because no app can send.",
        advice: "Alert above 0: APNs cannot be reached, or refuses every app. The backlog stays in its queue.")
    static let heldTooLong = Metric(
        "harebell_held_too_long_total", .counter,
        "Requests that waited for `hold_seconds` and went into a retry queue, uncounted.",
        advice: "An app is paused, or APNs silent, for long: see `harebell_app_paused`.")
    static let requeued = Metric(
        "harebell_requeued_total", .counter, "Deliveries given back unsent, because no app could send.",
        advice: "Each standstill gives back what was held once.")
    static let remembered = Metric(
        "harebell_completed_requests", .gauge,
        "Finished requests that are remembered, lest a redelivery be sent again.",
        advice: "At most a few times `harebell_prefetch`; more than usual for ten minutes after a lost connection.")
    static let orphans = Metric(
        "harebell_orphans", .gauge, "Requests in flight whose connection with the broker is gone.",
        advice: "At most the prefetch of each lost connection.")
    static let suspects = Metric(
        "harebell_suspect_publishes", .gauge,
        "Publishes that go alone, because one of them may have closed the connection.",
        advice: "They pass within seconds. See `harebell_quarantined_publishes_total`.")
    static let workers = Metric(
        "harebell_workers", .gauge, "Worker threads.", advice: "`workers`.")
    static let workerSilence = Metric(
        "harebell_worker_silence_seconds", .gauge, by: ["worker"], "Since a worker thread last answered.",
        advice: "Grows to 5 s, and above only if a worker is stuck: `/livez` fails from 15 s on.")
    static let suppressedLogLines = Metric(
        "harebell_log_lines_suppressed_total", .counter,
        "Log lines of worker threads that were left out because of their number.",
        advice: "Of one message, 30 lines a minute are written. Find the peer that causes more.")
    static let spans = Metric(
        "harebell_spans_total", .counter, by: ["result"], "Spans of traces, by their end.",
        advice: "`exported`, or `dropped`: the [collector](../operate/tracing.md) did not take them, or not in time.")

    // MARK: Admin server

    static let admin = [adminConnections, adminRefusals, adminRequests, deadLetterOrders]

    static let adminConnections = Metric(
        "harebell_admin_connections", .gauge, "Connections with the admin server.",
        advice: "At most 128, and 64 from one address: beyond, the oldest is closed.")
    static let adminRefusals = Metric(
        "harebell_admin_closed_total", .counter, "Connections that the admin server closed because of a limit.",
        advice: "Somebody is slow, or opens too many.")

    static let adminRequests = Metric(
        "harebell_admin_requests_total", .counter, by: ["page", "status"], "Requests that the admin server answered.",
        advice: "`page` is a [path](../operate/observability.md) or `other`. Many 401: a client has a wrong token.")
    static let deadLetterOrders = Metric(
        "harebell_dead_letter_orders_total", .counter, by: ["order", "end"],
        "Orders about dead letters that were taken over HTTP, by how they ended.",
        advice: """
            `order` is `look`, `replay` or `stop`; `end` as in [dead letters](../operate/dead-letters.md#over-http). \
            The log has each replay.
            """)

    // MARK: Process

    static let process = [
        buildInfo, cpu, residentMemory, virtualMemory, openDescriptors, maximumDescriptors, startTime,
    ]

    static let buildInfo = Metric(
        "harebell_build_info", .gauge, by: ["version"], "1, with the version as a label.",
        advice: "Tells which versions run, and when that changed.")
    static let cpu = Metric(
        "process_cpu_seconds_total", .counter, "Time that the process has had of processors, user and system.",
        advice: "A worker thread uses at most one processor: near `harebell_workers` per second, add workers.")
    static let residentMemory = Metric(
        "process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM.",
        advice: """
            Bounded by the prefetch of all queues and the sizes of their messages; \
            see [scaling](../operate/scaling.md). Growth at an even load is a defect: report it.
            """)
    static let virtualMemory = Metric(
        "process_virtual_memory_bytes", .gauge, "Address space of the process.",
        advice: "Mostly reserved and unused; see the resident memory.")
    static let openDescriptors = Metric(
        "process_open_fds", .gauge, "File descriptors that are open.",
        advice: "Growth at a constant load is a defect: report it.")
    static let maximumDescriptors = Metric(
        "process_max_fds", .gauge, "File descriptors that the process may have.",
        advice: "The soft limit (`ulimit -n`, `LimitNOFILE`). Without one left no connection can be opened.")
    static let startTime = Metric(
        "process_start_time_seconds", .gauge, "When the process began, in seconds since 1970.",
        advice: "A process that begins again and again fails: its last log lines and its exit status say why.")
}
