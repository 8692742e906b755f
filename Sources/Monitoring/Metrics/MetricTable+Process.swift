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
        "harebell_prefetch", .gauge, by: ["queue"], "Deliveries of a queue that all worker threads together may hold.",
        advice: "`queues[].prefetch` for each worker thread: it bounds everything that waits in Harebell.")
    static let prefetchInForce = Metric(
        "harebell_prefetch_in_force", .gauge, by: ["queue"],
        "Deliveries that all worker threads together may hold now.",
        advice: "Lower briefly after a start; 0 or 1 while no app can send.")
    static let queuePermits = Metric(
        "harebell_queue_permits", .gauge, by: ["queue"],
        "Notifications that `queues[].rate_limit` permits at once, over all worker threads; only for queues with one.",
        advice: "At 0 the rate limit is reached.")
    static let paceWaiting = Metric(
        "harebell_queue_pace_waiting", .gauge, by: ["queue"],
        "Notifications that wait for the rate limit of their queue.",
        advice: "Near `harebell_prefetch` during a campaign.")
    static let messages = Metric(
        "harebell_queue_messages", .gauge, by: ["queue"],
        "Queue depth at the last query: at most every 5 s, while a page or scrape asks for it.",
        advice: "If it grows, add workers, or find what slows these down. Unsettled deliveries are not included.")
    static let standstill = Metric(
        "harebell_standstill", .gauge, "Worker threads that consume nothing because no app can send.",
        advice: "Alert above 0: APNs cannot be reached, or refuses every app. The backlog stays in the queue.")
    static let heldTooLong = Metric(
        "harebell_held_too_long_total", .counter,
        "Requests that waited for `hold_seconds` and went into a retry queue; not counted as attempts.",
        advice: "An app is paused or APNs unreachable: see `harebell_app_paused`.")
    static let requeued = Metric(
        "harebell_requeued_total", .counter, "Deliveries returned unsent, because no app could send.",
        advice: "Each standstill returns the held deliveries once.")
    static let remembered = Metric(
        "harebell_completed_requests", .gauge,
        "Finished requests that are remembered, so that redeliveries are not sent again.",
        advice: "At most a few times `harebell_prefetch`; more than usual for ten minutes after a lost connection.")
    static let orphans = Metric(
        "harebell_orphans", .gauge, "Requests in flight whose broker connection was lost.",
        advice: "At most the prefetch of each lost connection.")
    static let suspects = Metric(
        "harebell_suspect_publishes", .gauge,
        "Publishes sent one at a time, because one may have closed the connection.",
        advice: "Normal for seconds. See `harebell_quarantined_publishes_total`.")
    static let workers = Metric(
        "harebell_workers", .gauge, "Worker threads.", advice: "`workers`.")
    static let workerSilence = Metric(
        "harebell_worker_silence_seconds", .gauge, by: ["worker"], "Time since a worker thread last responded.",
        advice: "Above 5 s a worker is stuck; from 15 s on `/livez` fails.")
    static let suppressedLogLines = Metric(
        "harebell_log_lines_suppressed_total", .counter,
        "Log lines of worker threads that were dropped by the rate limit.",
        advice: "The limit is 30 lines a minute per message. Find the peer that causes more.")
    static let spans = Metric(
        "harebell_spans_total", .counter, by: ["result"], "Spans of traces by outcome.",
        advice: "`exported`, or `dropped`: the [collector](../operate/tracing.md) did not take them, or not in time.")

    // MARK: Admin server

    static let admin = [adminConnections, adminRefusals, adminRequests]

    static let adminConnections = Metric(
        "harebell_admin_connections", .gauge, "Connections with the admin server.",
        advice: "At most 128, and 64 from one address: beyond, the oldest is closed.")
    static let adminRefusals = Metric(
        "harebell_admin_closed_total", .counter, "Connections that the admin server closed because of a limit.",
        advice: "A client is slow, or opens too many.")

    static let adminRequests = Metric(
        "harebell_admin_requests_total", .counter, by: ["page", "status"], "Requests to the admin server.",
        advice: "`page` is a [path](../operate/observability.md) or `other`. Many 401: a client has a wrong token.")

    // MARK: Process

    static let process = [
        buildInfo, cpu, residentMemory, virtualMemory, openDescriptors, maximumDescriptors, startTime,
    ]

    static let buildInfo = Metric(
        "harebell_build_info", .gauge, by: ["version"], "1, with the version as a label.",
        advice: "Shows which versions run, and when that changed.")
    static let cpu = Metric(
        "process_cpu_seconds_total", .counter, "CPU time of the process, user and system.",
        advice: "A worker thread uses at most one CPU: near `harebell_workers` per second, add workers.")
    static let residentMemory = Metric(
        "process_resident_memory_bytes", .gauge, "Resident memory of the process.",
        advice: """
            Bounded by the prefetch of all queues and the sizes of their messages; \
            see [scaling](../operate/scaling.md). Growth at an even load is a defect: report it.
            """)
    static let virtualMemory = Metric(
        "process_virtual_memory_bytes", .gauge, "Address space of the process.",
        advice: "Mostly reserved and unused; see the resident memory.")
    static let openDescriptors = Metric(
        "process_open_fds", .gauge, "Open file descriptors.",
        advice: "Growth at a constant load is a defect: report it.")
    static let maximumDescriptors = Metric(
        "process_max_fds", .gauge, "Maximum number of file descriptors.",
        advice: "The soft limit (`ulimit -n`, `LimitNOFILE`). At the limit, no connection can be opened.")
    static let startTime = Metric(
        "process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.",
        advice: "A process that restarts often is failing: see its last log lines and exit status.")
}
