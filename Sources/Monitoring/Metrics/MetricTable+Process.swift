import Admin
import Runtime

/// The metrics of limits and of the process.
extension Metric {
    // MARK: Limits

    static let limits = [
        prefetch, paceWaiting, messages, standstill, workers,
        workerSilence, suppressedLogLines, spans,
    ]

    static let prefetch = Metric(
        "harebell_prefetch", .gauge, by: ["queue"], "Deliveries of a queue that all worker threads together may hold.")
    static let paceWaiting = Metric(
        "harebell_queue_pace_waiting", .gauge, by: ["queue"],
        "Notifications that wait for the rate limit of their queue.")
    static let messages = Metric(
        "harebell_queue_messages", .gauge, by: ["queue"],
        "Queue depth at the last query: at most every 5 s, while a page or scrape asks for it.")
    static let standstill = Metric(
        "harebell_standstill", .gauge, "Worker threads that consume nothing because no app can send.")
    static let workers = Metric(
        "harebell_workers", .gauge, "Worker threads.")
    static let workerSilence = Metric(
        "harebell_worker_silence_seconds", .gauge, by: ["worker"], "Time since a worker thread last responded.")
    static let suppressedLogLines = Metric(
        "harebell_log_lines_suppressed_total", .counter,
        "Log lines of worker threads that were dropped by the rate limit.")
    static let spans = Metric(
        "harebell_spans_total", .counter, by: ["result"],
        "Spans of traces: `exported`, or `dropped` because the collector did not take them in time.")

    // MARK: Admin server


    // MARK: Process

    static let process = [
        buildInfo, cpu, residentMemory, openDescriptors, maximumDescriptors, startTime,
    ]

    static let buildInfo = Metric(
        "harebell_build_info", .gauge, by: ["version"], "1, with the version as a label.")
    static let cpu = Metric(
        "process_cpu_seconds_total", .counter, "CPU time of the process, user and system.")
    static let residentMemory = Metric(
        "process_resident_memory_bytes", .gauge, "Resident memory of the process.")
    static let openDescriptors = Metric(
        "process_open_fds", .gauge, "Open file descriptors.")
    static let maximumDescriptors = Metric(
        "process_max_fds", .gauge, "Maximum number of file descriptors.")
    static let startTime = Metric(
        "process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.")
}
