package import Configuration
package import Core
package import Decoding

/// A queue as a worker sees it.
package struct PipelineQueue: Sendable {
    package let name: String
    package let decoder: any Decoder
    /// What the configuration calls the decoder.
    package let decoderName: String
    package let prefetch: UInt16
    package let resultFormat: Configuration.ResultFormat
    /// Which of ``PipelineSettings/processes`` reads its messages; `nil` where `decoder` does so here and now.
    package let process: Int?
    /// Limits how fast its requests are sent; `nil` for no limit.
    package let rateLimit: Configuration.RateLimit?

    package init(
        name: String, decoder: any Decoder, decoderName: String? = nil,
        resultFormat: Configuration.ResultFormat = .harebell, prefetch: UInt16, process: Int? = nil,
        rateLimit: Configuration.RateLimit? = nil
    ) {
        self.process = process
        self.rateLimit = rateLimit
        self.resultFormat = resultFormat
        self.name = name
        self.decoder = decoder
        self.decoderName = decoderName ?? decoder.name
        self.prefetch = prefetch
    }
}

/// A decoder that is a program, under the configuration's name for it.
package struct PipelineProcess: Sendable {
    package let name: String
    package let options: ProcessDecoder.Options
}

/// What a worker needs of the configuration. It is flat because each property is one setting.
package struct PipelineSettings: Sendable {
    package var queues: [PipelineQueue]
    /// The decoders that are programs.
    package var processes: [PipelineProcess] = []
    package var results: PublishRoute?
    package var publishResults: Configuration.Results.Publish
    package var resultsPer = Configuration.Results.Per.notification
    package var feedback: PublishRoute?
    package var deadLetters: DeadLetterEncoder
    /// Tries in this process.
    package var retry = RetryPolicy()
    /// Attempts from the retry queues.
    package var ladder: RetryLadder
    package var validation: Configuration.PayloadValidation
    /// From which share of refused device tokens on an app pauses; `nil` for never.
    package var tokenRefusals: TokenRefusalShare.Limit? = TokenRefusalShare.Limit()
    /// How long something may wait here for a paused app, or for APNs.
    package var hold: Duration
    /// The largest body of a delivery, in bytes.
    package var maximumMessage: Int
    /// How often a message may have been delivered in vain before it is given up without a look into it.
    package var poisonDeliveries: Int
    /// What a decoder may put a delivery off for at most.
    package var longestDeferral = Duration.seconds(300)
    /// The pause before a refused or returned publish is repeated: the first one, and the longest.
    package var refusalPause = Duration.milliseconds(500)
    package var longestRefusalPause = Duration.seconds(30)
    /// How long a reply queue may refuse a result, or a direct reply may wait for its connection.
    package var refusedResults = Duration.seconds(30)
    /// How long nothing goes where the broker closed the connection over it.
    package var quarantine = Duration.seconds(60)

    /// What all queues together may have unsettled here.
    package var prefetch: Int { queues.reduce(0) { $0 + Int($1.prefetch) } }

    /// Where the result of a request without `reply_to` goes.
    package func results(for outcome: Outcome) -> PublishRoute? {
        switch publishResults {
        case .all: results
        case .failures: outcome == .accepted ? nil : results
        case .none: nil
        }
    }

    /// Whether the request is kept beside its result.
    package func callsForDeadLetter(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .rejected, .invalid, .undelivered: true
        case .accepted, .unregistered, .expired: false
        }
    }

    /// What the results of a message that is no request are told apart by.
    package func notificationID(of delivery: Delivery) -> NotificationID {
        RequestKey.notificationID(own: nil, position: nil, of: delivery, queue: queues[delivery.queue.index].name)
    }

    package func pauseAfterRefusal(_ refusals: Int) -> Duration {
        refusalPause.doubled(max(refusals, 1) - 1, atMost: longestRefusalPause)
    }
}

extension PipelineSettings {
    /// Holds nothing longer than this.
    package mutating func limitHold(to limit: Duration) {
        hold = min(hold, limit)
        longestDeferral = min(longestDeferral, limit)
    }

    /// - Parameter worker: names this worker in dead letters
    package init(_ configuration: Configuration, worker: String) {
        let decoders = DecoderSet(configuration)
        var processes: [PipelineProcess] = []
        queues = configuration.queues.map { queue in
            guard let decoder = decoders[queue.decoder] else {
                preconditionFailure("the configuration's rules know every decoder's name")
            }
            return PipelineQueue(
                name: queue.name, decoder: decoder, decoderName: queue.decoder,
                resultFormat: queue.resultFormat, prefetch: queue.prefetch,
                process: (decoder as? ProcessDecoder).map { processes.index(of: queue.decoder, $0.options) },
                rateLimit: queue.rateLimit)
        }
        self.processes = processes
        results = configuration.results.route.map { PublishRoute($0) }
        publishResults = configuration.results.publish
        resultsPer = configuration.results.per
        refusedResults = configuration.results.refused
        feedback = configuration.feedback.map { PublishRoute($0) }
        deadLetters = DeadLetterEncoder(route: PublishRoute(configuration.deadLetter), worker: worker)
        ladder = RetryLadder(configuration.retry)
        hold = configuration.hold
        validation = configuration.apns.validate
        tokenRefusals = configuration.apns.badTokenPause
        maximumMessage = configuration.broker.maximumMessage
        poisonDeliveries = configuration.broker.poisonDeliveries
    }
}

extension [PipelineProcess] {
    /// The place of the one with this name: queues with one decoder share its program.
    fileprivate mutating func index(of name: String, _ options: ProcessDecoder.Options) -> Int {
        if let index = firstIndex(where: { $0.name == name }) { return index }
        append(PipelineProcess(name: name, options: options))
        return count - 1
    }
}
