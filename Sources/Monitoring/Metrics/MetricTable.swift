package import Admin
import Runtime

/// Every metric of `/metrics`, in order.
extension Metric {
    package static let all: [Metric] =
        requests + timings + results + connections + apps + limits + process

    // MARK: Requests

    static let requests = [
        deliveries, notifications, ignored, decodingLimits, decoderRunning, decoderWaiting, decoderRestarts,
        decoderQuarantined, payloadFindings, unknownReasons,
    ]

    static let deliveries = Metric(
        "harebell_deliveries_total", .counter, by: ["queue"], "Deliveries received from a queue.")
    static let notifications = Metric(
        "harebell_notifications_total", .counter, by: ["topic", "environment", "push_type", "outcome", "reason"],
        "Notifications by outcome; a reason that Apple does not document is `unknown`.")
    static let ignored = Metric(
        "harebell_ignored_total", .counter,
        "Messages that their decoder ignored; they have no result.")
    static let decodingLimits = Metric(
        "harebell_decoding_limits_total", .counter, by: ["limit"],
        "Messages beyond a limit of decoding: `body_bytes`, `json_depth` or `tokens`.")
    static let decoderRunning = Metric(
        "harebell_decoder_running", .gauge, by: ["decoder"],
        "Worker threads whose process for a decoder is running and accepts messages.")
    static let decoderWaiting = Metric(
        "harebell_decoder_waiting", .gauge, by: ["decoder"], "Messages without a response from a decoder's process.")
    static let decoderRestarts = Metric(
        "harebell_decoder_restarts_total", .counter, by: ["decoder"],
        "How often a decoder's process failed and was restarted.")
    static let decoderQuarantined = Metric(
        "harebell_decoder_quarantined_total", .counter, by: ["decoder"],
        "Messages for which a decoder's process failed twice, with the message alone.")
    static let payloadFindings = Metric(
        "harebell_payload_findings_total", .counter, "Payloads that deviate from Apple's tables of keys.")
    static let unknownReasons = Metric(
        "harebell_unknown_reasons_total", .counter, "Responses with an undocumented reason, or without one.")

    // MARK: Times

    static let timings = [request, queueWait, limiterWait, apns]

    static let request = Metric(
        "harebell_request_seconds", .histogram, "From a delivery's arrival to its settlement.")
    static let queueWait = Metric(
        "harebell_queue_wait_seconds", .histogram, "From a message's AMQP timestamp, in whole seconds, to its delivery."
    )
    static let limiterWait = Metric(
        "harebell_limiter_wait_seconds", .histogram, "From when a notification is ready to when it is sent.")
    static let apns = Metric(
        "harebell_apns_seconds", .histogram, "From when a notification is sent to the response of APNs.")

    // MARK: Results and settlements

    static let results = [
        retries, duplicatesAvoided, uncertain, deadLetters, returned, refusedPublishes, divertedResults,
        refusingQueues, quarantined, unsettled, oldestUnsettled, unconfirmed, consuming, publishing,
        brokerBlocked, secretExpiry,
    ]

    static let retries = Metric(
        "harebell_retries_total", .counter, by: ["kind"],
        "Notifications sent again: `resend` (not processed), `backoff`, `parked`, or `token` (refused provider token).")
    static let duplicatesAvoided = Metric(
        "harebell_duplicates_avoided_total", .counter,
        "Redeliveries of requests that this worker had finished or had in flight.")
    static let uncertain = Metric(
        "harebell_uncertain_total", .counter, "Attempts that APNs may or may not have processed.")
    static let deadLetters = Metric(
        "harebell_dead_letters_total", .counter, "Requests that became dead letters.")
    static let returned = Metric(
        "harebell_returned_total", .counter, "Publishes that no queue received.")
    static let refusedPublishes = Metric(
        "harebell_refused_publishes_total", .counter, "Publishes that the broker refused; each is retried.")
    static let divertedResults = Metric(
        "harebell_diverted_results_total", .counter,
        "Results that went to `results`, or to the dead letters, because their reply queue kept refusing them.")
    static let refusingQueues = Metric(
        "harebell_queue_refusing", .gauge, by: ["destination"],
        "Worker threads for which a queue of the configuration refuses publishes.")
    static let quarantined = Metric(
        "harebell_quarantined_publishes_total", .counter, "Publishes that made the broker close the connection.")
    static let unsettled = Metric(
        "harebell_unsettled", .gauge, "Unsettled deliveries.")
    static let oldestUnsettled = Metric(
        "harebell_oldest_unsettled_seconds", .gauge, "Age of the oldest unsettled delivery.")
    static let unconfirmed = Metric(
        "harebell_unconfirmed", .gauge, "Results and dead letters that the broker has not confirmed.")
    static let consuming = Metric(
        "harebell_consuming", .gauge, by: ["queue"], "Worker threads that consume from a queue.")
    static let publishing = Metric(
        "harebell_publishing", .gauge, "Worker threads whose publishing connection is open.")
    static let brokerBlocked = Metric(
        "harebell_broker_blocked", .gauge, "1 while the broker blocks publishing.")
    static let secretExpiry = Metric(
        "harebell_broker_secret_expiry_seconds", .gauge,
        "Until the token in `broker.password_file` expires; negative afterwards.")

    // MARK: Connections to APNs

    static let connections = [
        connectionCount, streams, maximumConcurrentStreams, permits, waiting, goaways,
        disconnects, limitHits,
        connects, connectFailures, braked, throttledNotifications,
        throttledDevices,
    ]

    static let connectionCount = Metric(
        "harebell_connections", .gauge, by: ["app", "environment", "state"],
        "Connections with APNs: `connecting`, `ready` or `draining`; of the first app that shares them.")
    static let streams = Metric(
        "harebell_streams", .gauge, by: ["app", "environment"],
        "Notifications in flight: sent, without a response yet.")
    static let maximumConcurrentStreams = Metric(
        "harebell_max_concurrent_streams", .gauge, by: ["app", "environment"],
        "Streams that APNs allows at once on the ready connections.")
    static let permits = Metric(
        "harebell_permits", .gauge, by: ["app", "environment"],
        "Permits in the token buckets of the ready connections.")
    static let waiting = Metric(
        "harebell_waiting", .gauge, by: ["app", "environment"],
        "Notifications that wait for a permit, a stream or a connection.")
    static let goaways = Metric(
        "harebell_goaways_total", .counter, by: ["reason"], "GOAWAY frames from APNs, by its reason or HTTP/2's code.")
    static let disconnects = Metric(
        "harebell_disconnects_total", .counter, by: ["code"],
        "Connections with APNs that ended, by cause; `none` is an orderly end.")
    static let limitHits = Metric(
        "harebell_limit_hits_total", .counter, by: ["limit"], "How often a limit of the connections was reached.")
    static let connects = Metric(
        "harebell_connects_total", .counter, "Attempts to connect to APNs.")
    static let connectFailures = Metric(
        "harebell_connect_failures_total", .counter, "Connects to APNs that failed.")
    static let braked = Metric(
        "harebell_braked_connections", .gauge, by: ["app", "environment"],
        "Connections that are throttled now.")
    static let throttledNotifications = Metric(
        "harebell_spaced_total", .counter,
        "Notifications delayed because APNs throttled their device.")
    static let throttledDevices = Metric(
        "harebell_spaced_devices", .gauge, by: ["app", "environment"],
        "Devices that are paused after 429 TooManyRequests.")

    // MARK: Apps

    static let apps = [appPaused, held, certificateExpiry, providerTokenAge]

    static let appPaused = Metric(
        "harebell_app_paused", .gauge, by: ["topic", "environment", "cause"],
        "1 while APNs refuses an app, or a topic of one; `cause` is its reason, or `device-tokens`.")
    static let held = Metric(
        "harebell_held", .gauge, by: ["topic", "environment"], "Notifications that wait for a paused app or topic.")
    static let certificateExpiry = Metric(
        "harebell_certificate_expiry_seconds", .gauge, by: ["topic", "environment"],
        "Until the app's certificate expires; negative afterwards.")
    static let providerTokenAge = Metric(
        "harebell_provider_token_age_seconds", .gauge, by: ["topic", "environment"],
        "Since the app's provider token was signed.")
}
