import Settings

extension Setting {
    /// Keys of earlier releases, by their path in the schema, each with what to do instead.
    static let removed: [String: String] = [
        "queues[].result_format": "results are always Harebell's JSON"
    ]
}
