extension Setting {
    /// Keys of earlier releases, by their path in the schema, each with what to do instead.
    static let removed: [String: String] = [
        "apns.bind_address": "set the source address on the host's route to APNs",
        "apns.connect_timeout_seconds": "it is always 15 seconds",
        "apns.connections.per_minute": "it is always 30",
        "apns.connections.surplus_seconds": "it is always 600 seconds",
        "apns.device_spacing_seconds": "after 429, notifications wait for the first of retry.throttled_delays_seconds",
        "apns.slow_on_errors": "a connection always sends slower while APNs refuses much on it",
        "apns.stall_seconds": "it is always 10 seconds",
        "apns.validate": "findings are always in the result's detail, and the notification is sent",
        "apps[].broadcast_endpoint": "broadcasts use endpoint",
        "apps[].management_endpoint": "channels use Apple's host, or endpoint if that is another host",
        "apps[].proxy": "apns.proxy is for all apps",
        "broker.connect_timeout_seconds": "it is always 10 seconds",
        "broker.poison_deliveries": "it is always 15",
        "decoders[].mapping.only_values": "only_if is a list of the source and its accepted values",
        "decoders[].process.batch": "a frame has at most 64 messages",
        "decoders[].process.environment": "start the program with env: command: [/usr/bin/env, NAME=value, program]",
        "decoders[].process.maximum_answer_bytes": "a frame from the program has at most 4 MiB",
        "decoders[].process.maximum_in_flight": "the program has at most 512 messages at a time",
        "decoders[].process.restart_limit_milliseconds": "the longest pause before a restart is 30 s",
        "decoders[].process.restart_milliseconds": "the first pause before a restart is 100 ms",
        "decoders[].process.start_milliseconds": "the program has 10 s for its hello",
        "queues[].result_format": "results are always Harebell's JSON",
        "reload_seconds": "files are always checked every 10 seconds",
        "results.refused_seconds": "it is always 30 seconds",
    ]
}
