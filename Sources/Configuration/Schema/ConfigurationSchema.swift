extension Setting {
    /// All keys of the configuration file.
    static let all: [Setting] = [broker, queues, decoders, routes, retry, apns, apps, process].flatMap(\.self)

    /// Source: AMQP 0-9-1, `shortstr`: the name of a queue or an exchange, or a routing key.
    static let shortString = 0...255
    /// The upper bound is effectively no limit.
    static let permits = 1...10_000_000
    /// RabbitMQ's default is 0.
    static let priorities = -1000...1000

    private static let broker = [
        Setting("broker", .section, default: "{}", "The RabbitMQ broker."),
        Setting(
            "broker.endpoints", .list(of: .text(bytes: 1...2048), count: 1...32),
            default: "[\"amqp://guest:guest@127.0.0.1:5672/%2f\"]",
            "URIs of the broker nodes; amqps:// for TLS. If one fails, another one is tried."),
        Setting(
            "broker.password_file", .file, default: "null",
            "A file with the password, not percent-encoded; replaces the one in every endpoint."),
        Setting("broker.tls", .section, default: "{}", "TLS settings for amqps:// endpoints."),
        Setting("broker.tls.ca_file", .file, default: "null", "PEM bundle to trust instead of the system's."),
        Setting("broker.tls.certificate_file", .file, default: "null", "PEM client certificate, with its chain."),
        Setting("broker.tls.private_key_file", .file, default: "null", "PEM private key of the client certificate."),
        Setting(
            "broker.tls.server_name", .text(bytes: 1...255), default: "null",
            "The name that the broker's certificate must have, if it is not the endpoint's host."),
        Setting(
            "broker.heartbeat_seconds", .integer(1...600), default: "15",
            "Heartbeat to propose; a connection without traffic for two intervals is closed."),
        Setting(
            "broker.max_message_bytes", .integer(8192...16_777_216), default: "262144",
            "A delivery with a larger body is invalid and is not buffered."),
    ]

    private static let queues = [
        Setting(
            "queues", .list(of: .section, count: 1...256), default: "[{ name: push.requests }]",
            "The queues to consume from."),
        Setting(
            "queues[].name", .text(bytes: 1...255), default: nil,
            "The queue's name; with the suffix .retry.<seconds>s it must fit into 255 bytes."),
        Setting(
            "queues[].decoder", .text(bytes: 1...64), default: "auto",
            "The name of a format or of an entry in decoders; auto chooses by content type and headers."),
        Setting(
            "queues[].prefetch", .integer(1...65535), default: "1000",
            "Unsettled deliveries that each worker thread may hold."),
        Setting(
            "queues[].single_active_consumer", .boolean, default: "false",
            "Declares the queue with a single active consumer, for requests in order."
        ),
        Setting(
            "queues[].consumer_priority", .integer(priorities), default: "null",
            "The x-priority of the worker's consumers: lower ones receive what higher ones cannot take."),
        Setting(
            "queues[].rate_limit", .section, default: "null",
            "How fast each worker thread sends from the queue, as a token bucket; null for no limit."),
        Setting("queues[].rate_limit.per_second", .integer(permits), default: nil, "Notifications per second."),
        Setting("queues[].rate_limit.burst", .integer(permits), default: nil, "Notifications at once at most."),
    ]

    private static let routes = [
        Setting(
            "results", .section, default: "null",
            "The target of results without reply_to; null for none."),
        Setting(
            "results.exchange", .text(bytes: shortString), default: "\"\"",
            "The exchange; \"\" is the default exchange."),
        Setting(
            "results.routing_key", .text(bytes: shortString), default: "push.results", optional: true,
            "The routing key, or the queue's name on the default exchange; null for none."),
        Setting(
            "results.publish", .choice(Configuration.Results.Publish.allCases.map(\.rawValue)), default: "all",
            "Which results without reply_to are published."),
        Setting(
            "results.per", .choice(Configuration.Results.Per.allCases.map(\.rawValue)), default: "notification",
            "What one message contains: one result, or an array of all results of a request."),
        Setting(
            "feedback", .section, default: "null",
            "An additional target for unregistered results, so that one service deletes dead tokens; null for none."
        ),
        Setting(
            "feedback.exchange", .text(bytes: shortString), default: "\"\"",
            "The exchange; \"\" is the default exchange."),
        Setting(
            "feedback.routing_key", .text(bytes: shortString), default: "push.feedback", optional: true,
            "The routing key, or the queue's name on the default exchange; null for none."),
        Setting("dead_letter", .section, default: "{}", "The target of failed requests, for inspection and replay."),
        Setting(
            "dead_letter.exchange", .text(bytes: shortString), default: "\"\"",
            "The exchange; \"\" is the default exchange."),
        Setting(
            "dead_letter.routing_key", .text(bytes: shortString), default: "push.dead",
            "The routing key, or the queue's name on the default exchange."),
    ]

    private static let retry = [
        Setting("retry", .section, default: "{}", "Requests that wait in retry queues."),
        Setting(
            "retry.delays_seconds", .list(of: .integer(1...604_800), count: 1...16), default: "[900, 1800, 3600]",
            "Delays of the retry queues for APNs faults (5xx; Apple asks for 15 minutes); the last one repeats."
        ),
        Setting(
            "retry.throttled_delays_seconds", .list(of: .integer(1...604_800), count: 1...16), default: "[5, 30, 120]",
            "Delays when APNs throttles one device (429); the last one repeats."),
        Setting(
            "retry.max_attempts", .integer(1...100), default: "6",
            "Counted attempts after which a notification is undelivered."),
    ]

    private static let apns = [
        Setting("apns", .section, default: "{}", "Connections to Apple Push Notification service."),
        Setting("apns.connections", .section, default: "{}", "Per app credential and worker thread."),
        Setting("apns.connections.min", .integer(1...100), default: "1", "Connections kept open."),
        Setting("apns.connections.max", .integer(1...100), default: "8", "The maximum number of connections."),
        Setting("apns.rate_limit", .section, default: "{}", "The token bucket of each connection."),
        Setting("apns.rate_limit.per_second", .integer(permits), default: "4000", "Permits per second."),
        Setting(
            "apns.rate_limit.burst", .integer(permits), default: "500",
            "The maximum number of permits at one time."),
        Setting(
            "apns.request_timeout_seconds", .integer(1...300), default: "30",
            "Time limit for a response from APNs."),
        Setting(
            "apns.ping_idle_seconds", .integer(10...86400), default: "3600",
            "A PING is sent after this time without traffic on a connection."),
        Setting(
            "apns.proxy", .text(bytes: 1...2048), default: "null",
            "http://user:password@host:port of an HTTP proxy (CONNECT) for every connection to APNs; none or null for "
                + "no proxy."),
        Setting(
            "apns.bad_token_pause", .boolean, default: "true",
            "Whether many refused device tokens pause their topic, because the environment may be wrong."),
    ]

    private static let apps = [
        Setting("apps", .list(of: .section, count: 1...1000), default: nil, "The apps, with one credential each."),
        Setting(
            "apps[].topic", .text(bytes: 1...255), default: nil,
            "The app's bundle ID, without suffixes of push types; for MDM the UID of the certificate."),
        Setting(
            "apps[].environment", .choice(["production", "development"]), default: "production",
            "The environment of APNs."),
        Setting(
            "apps[].endpoint", .text(bytes: 1...512), default: "null",
            "https://host:port instead of Apple's, for the simulator or port 2197; another host serves channels, too."
        ),
        Setting("apps[].ca_file", .file, default: "null", "PEM bundle to trust instead of the system's."),
        Setting("apps[].token", .section, default: "null", "Provider-token authentication; this or certificate."),
        Setting("apps[].token.key_file", .file, default: nil, "The signing key from Apple (.p8)."),
        Setting("apps[].token.key_id", .text(bytes: 1...64), default: nil, "The key ID, ten characters."),
        Setting("apps[].token.team_id", .text(bytes: 1...64), default: nil, "The team ID, ten characters."),
        Setting("apps[].certificate", .section, default: "null", "Certificate authentication; this or token."),
        Setting(
            "apps[].certificate.certificate_file", .file, default: "null",
            "PEM certificate from Apple, with private_key_file."),
        Setting("apps[].certificate.private_key_file", .file, default: "null", "PEM private key of the certificate."),
        Setting("apps[].certificate.p12_file", .file, default: "null", "Certificate and key in one PKCS #12 file."),
        Setting("apps[].certificate.password_file", .file, default: "null", "A file with the password of p12_file."),
    ]

    private static let process = [
        Setting(
            "workers", .integer(1...256), default: "1",
            "Worker threads, each with an event loop and its own connections."),
        Setting(
            "drain_deadline_seconds", .integer(1...3600), default: "30",
            "How long a drain waits for requests in flight; the rest returns to its queue."),
        Setting(
            "hold_seconds", .integer(1...1200), default: "300",
            "How long a request may wait in the worker for a paused app or APNs; then it waits in the broker."),
        Setting("admin", .section, default: "{}", optional: true, "Metrics and health over HTTP; null turns it off."),
        Setting(
            "admin.listen", .text(bytes: 1...255), default: "\"127.0.0.1:9464\"",
            optional: true,
            "Numeric address and port (0 for a free one); any address except loopback requires a token. null "
                + "turns the server off."
        ),
        Setting(
            "admin.token_file", .file, default: "null",
            "A file with the bearer token for all pages except /, /livez and /runbook."),
        Setting(
            "admin.ready_when", .choice(Configuration.Admin.ReadyWhen.allCases.map(\.rawValue)), default: "any",
            "Whether /readyz needs any app to be usable, or all of them."),
        Setting("tracing", .section, default: "null", "Traces for OpenTelemetry; null turns them off."),
        Setting(
            "tracing.endpoint", .text(bytes: 1...255), default: "http://127.0.0.1:4318",
            "The collector, as http://host:port or https://host:port: OTLP over HTTP, encoded as JSON."),
        Setting(
            "tracing.sample_ratio", .number(0...1), default: "1.0",
            "The share of requests to trace among those without a traceparent; the others follow its sampled flag."),
        Setting("log", .section, default: "{}", "The log on standard error."),
        Setting(
            "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]),
            default: "info", "The least severe messages to write."),
        Setting(
            "log.format", .choice(Configuration.Log.Format.allCases.map(\.rawValue)), default: "text",
            "One line of text or one JSON object per message."),
        Setting(
            "log.show_payloads", .boolean, default: "false",
            "Whether `dead-letters show` prints bodies and complete device tokens. Log lines never have them."),
    ]
}
