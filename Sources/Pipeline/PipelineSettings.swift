package import Configuration
package import Core
package import Decoding

/// A request queue with its decoder and limits.
package struct PipelineQueue: Sendable {
    package let name: String
    package let decoder: any Decoder
    package let decoderName: String
    package let prefetch: UInt16
    /// The index in ``PipelineSettings/processes`` of its decoder; `nil` if `decoder` runs in the worker.
    package let process: Int?
    package let rateLimit: Configuration.RateLimit?

    package init(
        name: String, decoder: any Decoder, decoderName: String, prefetch: UInt16, process: Int? = nil,
        rateLimit: Configuration.RateLimit? = nil
    ) {
        self.process = process
        self.rateLimit = rateLimit
        self.name = name
        self.decoder = decoder
        self.decoderName = decoderName
        self.prefetch = prefetch
    }
}

/// A decoder that is a program, with its name in the configuration.
package struct PipelineProcess: Sendable {
    package let name: String
    package let options: ProcessDecoder.Options
}

/// The settings of a worker from the configuration. It is flat because each property is one setting.
package struct PipelineSettings: Sendable {
    package var queues: [PipelineQueue]
    package var processes: [PipelineProcess] = []
    package var results: PublishRoute?
    package var publishResults: Configuration.Results.Publish
    package var resultsPer = Configuration.Results.Per.notification
    package var feedback: PublishRoute?
    package var deadLetters: DeadLetterEncoder
    package var ladder: RetryLadder
    /// The share of refused device tokens at which a topic pauses; `nil` for never.
    package var tokenRefusals: TokenRefusalShare.Limit? = TokenRefusalShare.Limit()
    /// The longest wait in the worker for a paused app or for APNs.
    package var hold: Duration
    /// The largest body of a delivery, in bytes.
    package var maximumMessage: Int
    /// The longest deferral by a decoder.
    package var longestDeferral = Duration.seconds(300)

    /// The maximum of unsettled deliveries from all queues.
    package var prefetch: Int { queues.indices.reduce(0) { $0 + Int(queues[$1].prefetch) } }

    /// The route for the result of a request without `reply_to`.
    package func results(for outcome: Outcome) -> PublishRoute? {
        switch publishResults {
        case .all: results
        case .failures: outcome == .accepted ? nil : results
        case .none: nil
        }
    }
}

extension PipelineSettings {
    /// - Parameter worker: the name of this worker in dead letters
    package init(_ configuration: Configuration, worker: String) {
        let decoders = DecoderSet(configuration.decoders)
        var processes: [PipelineProcess] = []
        queues = configuration.queues.map { queue in
            guard let decoder = decoders[queue.decoder] else {
                preconditionFailure("the configuration's rules know every decoder's name")
            }
            return PipelineQueue(
                name: queue.name, decoder: decoder, decoderName: queue.decoder, prefetch: queue.prefetch,
                process: (decoder as? ProcessDecoder).map { processes.index(of: queue.decoder, $0.options) },
                rateLimit: queue.rateLimit)
        }
        self.processes = processes
        results = configuration.results.route.map { PublishRoute($0) }
        publishResults = configuration.results.publish
        resultsPer = configuration.results.per
        feedback = configuration.feedback.map { PublishRoute($0) }
        deadLetters = DeadLetterEncoder(route: PublishRoute(configuration.deadLetter), worker: worker)
        ladder = RetryLadder(configuration.retry)
        hold = configuration.hold
        tokenRefusals = configuration.apns.badTokenPause
        maximumMessage = configuration.broker.maximumMessage
    }
}

extension [PipelineProcess] {
    /// The index of the process with this name: queues with the same decoder share its program.
    fileprivate mutating func index(of name: String, _ options: ProcessDecoder.Options) -> Int {
        if let index = firstIndex(where: { $0.name == name }) { return index }
        append(PipelineProcess(name: name, options: options))
        return count - 1
    }
}
