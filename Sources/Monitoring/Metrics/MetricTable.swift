package import Admin
import Runtime

/// Every metric of `/metrics`, in order, with its help text and its documentation.
extension Metric {
    package static let all: [Metric] =
        requests + timings + results + connections + apps + limits + admin + process

    // MARK: Requests

    static let requests = [
        deliveries, notifications, ignored, deferred, decodingLimits, decoderRunning, decoderWaiting, decoderRestarts,
        decoderTimeouts, decoderQuarantined, payloadFindings, unknownReasons,
    ]

    static let deliveries = Metric(
        "harebell_deliveries_total", .counter, by: ["queue"], "Deliveries received from a queue.",
        advice: "Compare with the queue's publish rate in RabbitMQ.")
    static let notifications = Metric(
        "harebell_notifications_total", .counter, by: ["topic", "environment", "push_type", "outcome", "reason"],
        "Notifications by outcome.",
        advice: """
            `topic` and `environment` are the app's, or empty. `reason` is from APNs; `unknown` stands for \
            undocumented ones, which the log names. Alert on the share of `undelivered`, `rejected` and `invalid`; \
            the last two are faults of producers.
            """)
    static let ignored = Metric(
        "harebell_ignored_total", .counter,
        "Messages that their decoder ignored; they have no result.",
        advice: "Find who publishes them.")
    static let deferred = Metric(
        "harebell_deferred_total", .counter, "How often a message was deferred by its decoder or its `not-before`.",
        advice: "They wait in the retry queues.")
    static let decodingLimits = Metric(
        "harebell_decoding_limits_total", .counter, by: ["limit"], "Messages beyond a limit of decoding.",
        advice: """
            They are `invalid`. `body_bytes` is `broker.maximum_message_bytes`; `json_depth` and `tokens` are fixed: \
            see [decoders](../produce/decoders.md), "Limits".
            """)
    static let decoderRunning = Metric(
        "harebell_decoder_running", .gauge, by: ["decoder"],
        "Worker threads whose process for a decoder is running and accepts messages.",
        advice: "Alert below `harebell_workers` for longer than a restart takes.")
    static let decoderWaiting = Metric(
        "harebell_decoder_waiting", .gauge, by: ["decoder"], "Messages without a response from a decoder's process.",
        advice: """
            If it stays near `harebell_prefetch`, the program is the limit: add workers, which have one process \
            each.
            """)
    static let decoderRestarts = Metric(
        "harebell_decoder_restarts_total", .counter, by: ["decoder"],
        "How often a decoder's process failed and was restarted.",
        advice: "The log has each reason; see [process](../produce/decoders/process.md), \"When it fails\".")
    static let decoderTimeouts = Metric(
        "harebell_decoder_timeouts_total", .counter, by: ["decoder"],
        "Of these, failures by exceeding `deadline_milliseconds`.",
        advice: "It hangs, or the deadline is too short for a `batch`.")
    static let decoderQuarantined = Metric(
        "harebell_decoder_quarantined_total", .counter, by: ["decoder"],
        "Messages for which a decoder's process failed twice, with the message alone.",
        advice: "They are `invalid` and have a dead letter: fix the program, then replay them.")
    static let payloadFindings = Metric(
        "harebell_payload_findings_total", .counter, "Payloads that deviate from Apple's tables of keys.",
        advice: "See the log or each result's `detail`. `apns.validate` decides whether they are sent.")
    static let unknownReasons = Metric(
        "harebell_unknown_reasons_total", .counter, "Responses with an undocumented reason, or without one.",
        advice: "The status decides their outcome. The log names each once; Harebell may need an update.")

    // MARK: Times

    static let timings = [request, queueWait, limiterWait, apns]

    static let request = Metric(
        "harebell_request_seconds", .histogram, "From a delivery's arrival to its settlement.",
        advice: "If it grows, see which part does; the rest is confirms (`harebell_unconfirmed`) or retries.")
    static let queueWait = Metric(
        "harebell_queue_wait_seconds", .histogram, "From a message's AMQP timestamp to its delivery.",
        advice: """
            Only of messages with a `timestamp`, in whole seconds; includes the time in retry queues. Add workers \
            when it grows and `harebell_limiter_wait_seconds` does not.
            """)
    static let limiterWait = Metric(
        "harebell_limiter_wait_seconds", .histogram, "From when a notification is ready to when it is sent.",
        advice: """
            For a permit, a stream or a connection. When it grows, see `harebell_permits` and `harebell_streams`: \
            raise `apns.connections.max` or `apns.rate_limit`.
            """)
    static let apns = Metric(
        "harebell_apns_seconds", .histogram, "From when a notification is sent to the response of APNs.",
        advice: "Depends on APNs and the network, not on Harebell.")

    // MARK: Results and settlements

    static let results = [
        retries, duplicatesAvoided, uncertain, deadLetters, returned, refusedPublishes, refusedRequests,
        divertedResults,
        refusingQueues, fittedPublishes, quarantined, unsettled, oldestUnsettled, unconfirmed, consuming, publishing,
        brokerBlocked, secretExpiry, secretRenewals,
    ]

    static let retries = Metric(
        "harebell_retries_total", .counter, by: ["kind"], "Notifications that were sent again.",
        advice: """
            `resend`: at once, because APNs did not process it. `backoff`: after a pause. `parked`: from a retry \
            queue. `token`: after a refused provider token. Many `backoff` mean trouble at APNs or in the network.
            """)
    static let duplicatesAvoided = Metric(
        "harebell_duplicates_avoided_total", .counter,
        "Redeliveries of requests that this worker had finished or had in flight.",
        advice: "Normal after a lost broker connection; otherwise acknowledgements get lost.")
    static let uncertain = Metric(
        "harebell_uncertain_total", .counter, "Attempts that APNs may or may not have processed.",
        advice: "Each may be a duplicate on a device. Caused by lost connections and time-outs.")
    static let deadLetters = Metric(
        "harebell_dead_letters_total", .counter, "Requests that became dead letters.",
        advice: "See `harebell_notifications_total` by `reason`, fix the cause, then replay them.")
    static let returned = Metric(
        "harebell_returned_total", .counter, "Publishes that no queue received.",
        advice: "A reply queue, or one of Harebell's own, does not exist: `harebell topology --apply` makes the latter."
    )
    static let refusedPublishes = Metric(
        "harebell_refused_publishes_total", .counter, "Publishes that the broker refused; each is retried.",
        advice: "A queue is full (`x-overflow: reject-publish`), or the broker is overloaded.")
    static let refusedRequests = Metric(
        "harebell_refused_requests", .gauge, "Requests whose results wait because their reply queue refuses them.",
        advice: "The consumer of the reply queue in the log is too slow.")
    static let divertedResults = Metric(
        "harebell_diverted_results_total", .counter,
        "Results that went to `results`, or to the dead letters, because their reply queue kept refusing them.",
        advice: "Tell the producer that its reply queue is full.")
    static let refusingQueues = Metric(
        "harebell_queue_refusing", .gauge, by: ["destination"],
        "Worker threads for which a queue of the configuration refuses publishes.",
        advice: "Alert on it: requests are held. Consume from the queue, or raise its `max-length`.")
    static let fittedPublishes = Metric(
        "harebell_fitted_publishes_total", .counter,
        "Publishes without some headers, because they exceed the broker's `frame_max`.",
        advice: "`harebell-omitted` names the headers. Raise the broker's `frame_max` (131072 by default).")
    static let quarantined = Metric(
        "harebell_quarantined_publishes_total", .counter, "Publishes that made the broker close the connection.",
        advice: "They are isolated, and rerouted or held. The log has the broker's reason.")
    static let unsettled = Metric(
        "harebell_unsettled", .gauge, "Unsettled deliveries.",
        advice: "Near `harebell_prefetch`: the workers are the limit.")
    static let oldestUnsettled = Metric(
        "harebell_oldest_unsettled_seconds", .gauge, "Age of the oldest unsettled delivery.",
        advice: """
            Alert above 15 minutes: the broker closes the channel after 30 (`consumer_timeout`). See paused apps and \
            missing dead-letter queues.
            """)
    static let unconfirmed = Metric(
        "harebell_unconfirmed", .gauge, "Results and dead letters that the broker has not confirmed.",
        advice: "If it grows, the broker is slow, blocked or unreachable, or a queue for them is missing.")
    static let consuming = Metric(
        "harebell_consuming", .gauge, by: ["queue"], "Worker threads that consume from a queue.",
        advice: "Alert below `harebell_workers` for longer than a reconnect takes.")
    static let publishing = Metric(
        "harebell_publishing", .gauge, "Worker threads whose publishing connection is open.",
        advice: "Alert below `harebell_workers` for longer than a reconnect takes.")
    static let brokerBlocked = Metric(
        "harebell_broker_blocked", .gauge, "1 while the broker blocks publishing.",
        advice: "Its memory or disk alarm is on: see `rabbitmq-diagnostics alarms`. Results wait; nothing is lost.")
    static let secretExpiry = Metric(
        "harebell_broker_secret_expiry_seconds", .gauge,
        "Until the token in `broker.password_file` expires; negative afterwards.",
        advice: "Only for a token with an `exp`. Near 0, the program that writes the file has stopped.")
    static let secretRenewals = Metric(
        "harebell_broker_secret_renewals_total", .counter, by: ["result"],
        "Tokens sent on open broker connections.",
        advice: "`renewed` or `refused`. A refused connection logs in again with the same token.")

    // MARK: Connections to APNs

    static let connections = [
        connectionCount, connectionsLimit, streams, maximumConcurrentStreams, permits, window, waiting, goaways,
        disconnects, limitHits,
        connects, connectFailures, replaced, streamCuts, shrinks, brakes, braked, throttledNotifications,
        throttledDevices,
    ]

    static let connectionCount = Metric(
        "harebell_connections", .gauge, by: ["app", "environment", "state"], "Connections with APNs.",
        advice: """
            `state` is `connecting`, `ready` or `draining`. Apps with one credential share connections, which count \
            for the first of them. Alert when none is `ready`.
            """)
    static let connectionsLimit = Metric(
        "harebell_connections_limit", .gauge, by: ["app", "environment"],
        "Maximum number of connections with APNs, over all worker threads.",
        advice: "`apns.connections.max`. Raise it if all are in use and notifications still wait.")
    static let streams = Metric(
        "harebell_streams", .gauge, by: ["app", "environment"],
        "Notifications in flight: sent, without a response yet.",
        advice: "Near `harebell_max_concurrent_streams`, APNs is the limit: more connections help.")
    static let maximumConcurrentStreams = Metric(
        "harebell_max_concurrent_streams", .gauge, by: ["app", "environment"],
        "Streams that APNs allows at once on the ready connections.",
        advice: "It falls when APNs is overloaded, or refuses too much.")
    static let permits = Metric(
        "harebell_permits", .gauge, by: ["app", "environment"],
        "Permits in the token buckets of the ready connections.",
        advice: "At 0 under load, raise `apns.rate_limit` or `apns.connections.max`.")
    static let window = Metric(
        "harebell_window_bytes", .gauge, by: ["app", "environment"], "Bytes of payload that APNs accepts now.",
        advice: "At 0, HTTP/2 flow control of APNs blocks sending.")
    static let waiting = Metric(
        "harebell_waiting", .gauge, by: ["app", "environment"],
        "Notifications that wait for a permit, a stream or a connection.",
        advice: "Their number is bounded by the queues' prefetch. See `harebell_limiter_wait_seconds`.")
    static let goaways = Metric(
        "harebell_goaways_total", .counter, by: ["reason"], "GOAWAY frames from APNs, by its reason or HTTP/2's code.",
        advice: "A few `NO_ERROR` and `Shutdown` a day are normal. After 40 reasons: `other`.")
    static let disconnects = Metric(
        "harebell_disconnects_total", .counter, by: ["code"], "Connections with APNs that ended, by cause.",
        advice: "`none`: closed normally. The log has the rest; see [troubleshooting](../operate/troubleshooting.md).")
    static let limitHits = Metric(
        "harebell_limit_hits_total", .counter, by: ["limit"], "How often a limit of the connections was reached.",
        advice: """
            `no_permit`, `no_stream`, `no_window` and `no_connection` count turns that ended with something waiting \
            for it: the one that grows is the limit. The others are in [APNs](../internals/apns.md), "Limits".
            """)
    static let connects = Metric(
        "harebell_connects_total", .counter, "Attempts to connect to APNs.",
        advice: "Apple treats frequent connects as an attack: find the cause if it grows steadily.")
    static let connectFailures = Metric(
        "harebell_connect_failures_total", .counter, "Connects to APNs that failed.",
        advice: "The log says why; see [troubleshooting](../operate/troubleshooting.md).")
    static let replaced = Metric(
        "harebell_connections_replaced_total", .counter, "Connections replaced because of the responses on them.",
        advice: "Refused provider tokens, only server errors, or reduced stream limits.")
    static let streamCuts = Metric(
        "harebell_stream_cuts_total", .counter,
        "Connections on which APNs reduced the stream limit to a quarter or less.",
        advice: "APNs refuses too much, or is overloaded.")
    static let shrinks = Metric(
        "harebell_shrinks_total", .counter, "Connections closed because they were not needed.",
        advice: "Normal after a peak.")
    static let brakes = Metric(
        "harebell_brakes_total", .counter,
        "How often a connection was throttled because APNs refused much on it.",
        advice: "See `harebell_notifications_total` by `reason`.")
    static let braked = Metric(
        "harebell_braked_connections", .gauge, by: ["app", "environment"],
        "Connections that are throttled now.",
        advice: "As `harebell_brakes_total`.")
    static let throttledNotifications = Metric(
        "harebell_spaced_total", .counter,
        "Notifications delayed because APNs throttled their device.",
        advice: "A producer sends a device more than APNs accepts: collapse or batch.")
    static let throttledDevices = Metric(
        "harebell_spaced_devices", .gauge, by: ["app", "environment"],
        "Devices that are paused after 429 TooManyRequests.",
        advice: "At most 10,000 in each pool; then the oldest is released.")

    // MARK: Apps

    static let apps = [appPaused, held, certificateExpiry, providerTokenAge]

    static let appPaused = Metric(
        "harebell_app_paused", .gauge, by: ["topic", "environment", "cause"],
        "1 while APNs refuses an app, or a topic of one.",
        advice: """
            `cause` is the reason of APNs, or `device-tokens` if the environment is probably wrong; empty while 0. \
            Alert on 1: correct the credential, topic or environment.
            """)
    static let held = Metric(
        "harebell_held", .gauge, by: ["topic", "environment"], "Notifications that wait for a paused app or topic.",
        advice: "Sent when the pause ends.")
    static let certificateExpiry = Metric(
        "harebell_certificate_expiry_seconds", .gauge, by: ["topic", "environment"],
        "Until the app's certificate expires; negative afterwards.",
        advice: "Alert below 30 days: renew it, then send SIGHUP.")
    static let providerTokenAge = Metric(
        "harebell_provider_token_age_seconds", .gauge, by: ["topic", "environment"],
        "Since the app's provider token was signed.",
        advice: "Renewed at the first use after 50 minutes; APNs refuses tokens older than 60.")
}
