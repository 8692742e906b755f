import Settings

extension Setting {
    /// Keys of earlier releases, by their path in the schema, each with what to do instead.
    static let removed: [String: String] = [
        "decoders[].process.batch": "a frame has at most 64 messages",
        "decoders[].process.maximum_answer_bytes": "a frame from the program has at most 4 MiB",
        "decoders[].process.maximum_in_flight": "the program has at most 512 messages at a time",
        "decoders[].process.restart_limit_milliseconds": "the longest pause before a restart is 30 s",
        "decoders[].process.restart_milliseconds": "the first pause before a restart is 100 ms",
        "decoders[].process.start_milliseconds": "the program has 10 s for its hello",
        "queues[].result_format": "results are always Harebell's JSON",
    ]
}
