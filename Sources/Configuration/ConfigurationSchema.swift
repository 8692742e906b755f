import Decoding
package import Settings

extension DecoderRegistry {
    /// Every key of the configuration file, those of these formats' options included.
    package var schema: Schema {
        Schema(Setting.beforeDecoders + DecoderFormat.schema(formats) + Setting.behindDecoders)
    }
}

extension Setting {
    /// Source: AMQP 0-9-1, `shortstr`: what names a queue, an exchange or a routing key.
    static let shortString = 0...255
    /// The upper end is as good as no limit.
    static let permits = 1...10_000_000

    fileprivate static let beforeDecoders = broker + queues
    fileprivate static let behindDecoders = routes + retry + apns + apps + process

    private static let broker = [
        Setting("broker", .section, default: "{}", "The RabbitMQ broker."),
        Setting(
            "broker.endpoints", .texts(bytes: 1...2048, count: 1...32),
            default: "[\"amqp://guest:guest@127.0.0.1:5672/%2f\"]", secret: true,
            "URIs of the broker, amqps:// for TLS; with several, the next one is tried when one fails."),
        Setting(
            "broker.password_file", .file, default: "null",
            "A file with the password, used as it is (not percent-encoded) in place of the one in every endpoint."),
        Setting("broker.tls", .section, default: "{}", "TLS towards amqps:// endpoints."),
        Setting("broker.tls.ca_file", .file, default: "null", "PEM bundle to trust instead of the system's."),
        Setting("broker.tls.certificate_file", .file, default: "null", "PEM client certificate, with its chain."),
        Setting("broker.tls.private_key_file", .file, default: "null", "PEM private key of the client certificate."),
        Setting(
            "broker.tls.server_name", .text(bytes: 1...255), default: "null",
            "The name that the broker's certificate must have, if it is not the endpoint's host."),
        Setting(
            "broker.heartbeat_seconds", .integer(1...600), default: "15",
            "Heartbeat to propose; a peer that is silent for two of them is given up."),
        Setting(
            "broker.connect_timeout_seconds", .integer(1...300), default: "10",
            "How long name resolution and TCP may take together, and then TLS and the AMQP handshake."),
        Setting(
            "broker.maximum_message_bytes", .integer(8192...16_777_216), default: "262144",
            "A delivery with a larger body is refused without being buffered."),
        Setting(
            "broker.poison_deliveries", .integer(2...1000), default: "15",
            "A message that a quorum queue has delivered so often in vain is not decoded any more: it becomes a "
                + "dead letter."
        ),
    ]

    private static let queues = [
        Setting(
            "queues", .sections(count: 1...256), default: "[{ name: push.requests }]", "The queues to consume from."),
        Setting(
            "queues[].name", .text(bytes: 1...255), default: nil,
            "The queue's name; with .retry.<seconds>s appended it must still fit into 255 bytes."),
        Setting(
            "queues[].decoder", .text(bytes: 1...64), default: "auto",
            "How requests are read: a format's name, or one in decoders; auto chooses by content type and headers."),
        Setting(
            "queues[].result_format", .choice(Configuration.ResultFormat.allCases.map(\.rawValue)), default: "harebell",
            "What the bodies of results are: Harebell's JSON, gorush's feedback, or events of CloudEvents."),
        Setting(
            "queues[].prefetch", .integer(1...65535), default: "1000",
            "How many unsettled deliveries each worker thread may hold."),
        Setting(
            "queues[].single_active_consumer", .boolean, default: "false",
            "Whether the queue is one that serves a single consumer at a time, for requests that have to stay in order."
        ),
    ]

    private static let routes = [
        Setting(
            "results", .section, default: "null",
            "Where results go whose request has no reply_to; null for nowhere."),
        Setting("results.exchange", .text(bytes: shortString), default: "\"\"", "\"\" is the default exchange."),
        Setting(
            "results.routing_key", .text(bytes: shortString), default: "push.results", optional: true,
            "The routing key, or the queue's name on the default exchange; null for nowhere."),
        Setting(
            "results.publish", .choice(Configuration.Results.Publish.allCases.map(\.rawValue)), default: "all",
            "Which of these results are published; those with a reply_to always are."),
        Setting(
            "results.refused_seconds", .integer(1...600), default: "30",
            "How long a reply queue may refuse a result before it goes here, or with its request to the dead letters."),
        Setting(
            "feedback", .section, default: "null",
            "Where unregistered results are published as well, so that one service forgets dead tokens; null for "
                + "nowhere."
        ),
        Setting("feedback.exchange", .text(bytes: shortString), default: "\"\"", "\"\" is the default exchange."),
        Setting(
            "feedback.routing_key", .text(bytes: shortString), default: "push.feedback", optional: true,
            "The routing key, or the queue's name on the default exchange; null for nowhere."),
        Setting("dead_letter", .section, default: "{}", "Where failed requests are kept for inspection and replay."),
        Setting("dead_letter.exchange", .text(bytes: shortString), default: "\"\"", "\"\" is the default exchange."),
        Setting(
            "dead_letter.routing_key", .text(bytes: shortString), default: "push.dead",
            "The routing key, or the queue's name on the default exchange."),
    ]

    private static let retry = [
        Setting("retry", .section, default: "{}", "Requests that wait in retry queues."),
        Setting(
            "retry.delays_seconds", .integers(1...604_800, count: 1...16), default: "[900, 1800, 3600]",
            "Delays of the retry queues when APNs is in trouble (5xx; Apple asks for 15 minutes); the last one repeats."
        ),
        Setting(
            "retry.throttled_delays_seconds", .integers(1...604_800, count: 1...16), default: "[5, 30, 120]",
            "Delays when APNs throttles one device (429); the last one repeats."),
        Setting(
            "retry.max_attempts", .integer(1...100), default: "6",
            "After so many counted attempts a notification is undelivered."),
    ]

    private static let apns = [
        Setting("apns", .section, default: "{}", "Connections to Apple Push Notification service."),
        Setting("apns.connections", .section, default: "{}", "Per app credential and worker thread."),
        Setting("apns.connections.min", .integer(1...100), default: "1", "Connections kept open."),
        Setting("apns.connections.max", .integer(1...100), default: "8", "Connections at most."),
        Setting(
            "apns.connections.per_minute", .integer(1...6000), default: "30",
            "Connects within any minute at most; Apple takes rapid reconnects for an attack."),
        Setting(
            "apns.connections.surplus_seconds", .integer(10...86400), default: "600",
            "A connection that was not needed for so long is closed, down to min."),
        Setting("apns.rate_limit", .section, default: "{}", "The token bucket of each connection."),
        Setting("apns.rate_limit.per_second", .integer(permits), default: "4000", "Permits per second."),
        Setting("apns.rate_limit.burst", .integer(permits), default: "500", "Permits at most at one time."),
        Setting(
            "apns.request_timeout_seconds", .integer(1...300), default: "30",
            "How long APNs may take to answer one request."),
        Setting(
            "apns.ping_idle_seconds", .integer(10...86400), default: "3600",
            "A PING after so long without traffic on a connection."),
        Setting(
            "apns.stall_seconds", .integer(1...300), default: "10",
            "A PING after so long without a byte from APNs while requests wait for answers; unanswered for 5 s, it "
                + "ends the connection."
        ),
        Setting(
            "apns.connect_timeout_seconds", .integer(1...300), default: "15",
            "How long name resolution and TCP may take together; TLS and SETTINGS have 10 seconds more."),
        Setting(
            "apns.proxy", .text(bytes: 1...2048), default: "null", secret: true,
            "http://user:password@host:port of an HTTP proxy (CONNECT); none for no proxy, null for what HTTPS_PROXY "
                + "says."
        ),
        Setting(
            "apns.bind_address", .text(bytes: 2...45), default: "null",
            "This host's numeric address that connections to APNs, or to its proxy, go out from."),
        Setting(
            "apns.device_spacing_seconds", .integer(1...3600), default: "1",
            "How long a device is left alone after APNs answered 429 TooManyRequests for it."),
        Setting(
            "apns.slow_on_errors", .boolean, default: "true",
            "Whether a connection sends slower while APNs refuses a fifth of what it sends, before APNs slows it "
                + "down."),
        Setting(
            "apns.validate", .choice(Configuration.PayloadValidation.allCases.map(\.rawValue)), default: "warn",
            "Whether payloads are held to Apple's tables of keys, and strictly: what breaks them is invalid."),
        Setting(
            "apns.bad_token_pause", .section, default: "{}", optional: true,
            "When refused device tokens pause their app, because they mean the wrong environment; null for never."),
        Setting(
            "apns.bad_token_pause.share_percent", .integer(1...100), default: "50",
            "From which share of BadDeviceToken and DeviceTokenNotForTopic on."),
        Setting(
            "apns.bad_token_pause.answers", .integer(10...10000), default: "100",
            "Of how many of the newest answers to a topic; not before there are so many. Counted by each worker thread."
        ),
    ]

    private static let apps = [
        Setting("apps", .sections(count: 1...1000), default: nil, "The apps to send for, with one credential each."),
        Setting(
            "apps[].topic", .text(bytes: 1...255), default: nil,
            "The app's bundle ID, which gets the suffix of each push type; of an MDM certificate its UID."),
        Setting(
            "apps[].environment", .choice(["production", "development"]), default: "production",
            "Which of Apple's two services."),
        Setting(
            "apps[].endpoint", .text(bytes: 1...512), default: "null",
            "https://host:port instead of Apple's, for the simulator or port 2197."),
        Setting(
            "apps[].broadcast_endpoint", .text(bytes: 1...512), default: "null",
            "https://host:port for broadcasts instead of the app's endpoint, such as Apple's api-broadcast hosts."),
        Setting(
            "apps[].management_endpoint", .text(bytes: 1...512), default: "null",
            "https://host:port for channel management instead of Apple's, or of endpoint where that is given."),
        Setting("apps[].ca_file", .file, default: "null", "PEM bundle to trust instead of the system's."),
        Setting(
            "apps[].proxy", .text(bytes: 1...2048), default: "null", secret: true,
            "As apns.proxy, for this app alone; null for what apns.proxy says."),
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
            "Event-loop threads; each is a whole worker with connections of its own."),
        Setting(
            "drain_deadline_seconds", .integer(1...3600), default: "30",
            "How long a drain waits for what is in flight; the rest goes back to its queue."),
        Setting(
            "reload_seconds", .integer(0...3600), default: "10",
            "How often the configuration and its apps' keys and certificates are looked at, to reload what changed; "
                + "0 for SIGHUP alone."
        ),
        Setting(
            "hold_seconds", .integer(1...1200), default: "300",
            "How long a request may wait here for a paused app, or for APNs; then it waits in the broker."),
        Setting("admin", .section, default: "{}", optional: true, "Metrics and health over HTTP; null turns it off."),
        Setting(
            "admin.listen", .text(bytes: 1...255), default: "\"127.0.0.1:9464\"",
            optional: true,
            "Numeric address and port (0 for a free one) to listen on, not loopback only with a token; null turns "
                + "the server off."
        ),
        Setting(
            "admin.token_file", .file, default: "null",
            "A file with the bearer token that the admin server asks for, but for / and /livez."),
        Setting(
            "admin.ready_when", .choice(Configuration.Admin.ReadyWhen.allCases.map(\.rawValue)), default: "any",
            "Whether /readyz needs any app to be usable, or all of them."),
        Setting("log", .section, default: "{}", "What is written to standard error."),
        Setting(
            "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]),
            default: "info", "The least severe messages to write."),
        Setting(
            "log.format", .choice(Configuration.Log.Format.allCases.map(\.rawValue)), default: "text",
            "One line of text or one JSON object per message."),
        Setting("log.show_payloads", .boolean, default: "false", "Whether debug messages may contain payloads."),
    ]
}
