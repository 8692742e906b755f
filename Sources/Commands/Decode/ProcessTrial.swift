import Core
import Decoding
import Logging

/// Runs a decoder program for one message. Sans-IO like a worker.
final class ProcessTrial: Run {
    private let process: DecoderProgram
    /// The program's response; `nil` if it could not be started.
    private(set) var decoded: Decoded?
    /// Whether the program was ever running.
    private var hasWorked = false

    init(
        _ delivery: Delivery, decoder name: String, _ decoder: ProcessDecoder, host: any ProgramHost, log: Logger,
        at now: Instant
    ) {
        process = DecoderProgram(name: name, decoder.options, host: host, log: log, at: now)
        process.ask(Handle(0), delivery)
    }

    var isFinished: Bool { process.hasStopped }

    var nextDeadline: Instant? { process.nextDeadline }

    func step(at now: Moment) {
        process.step(at: now)
        hasWorked = hasWorked || process.hasStarted
        while let result = process.nextResult() { decoded = result.decoded }
        // A worker compares with other messages. Here there is none.
        if decoded == nil, hasWorked, let reason = process.lastFailure {
            decoded = .reject(DecodingFailure("the decoder failed with this message: \(reason)"))
        }
        if decoded != nil || (process.lastFailure != nil && !hasWorked) { process.stop() }
    }

    func stop(at now: Moment) {
        process.stop()
    }

    /// Why there is no response.
    var failure: String { process.lastFailure ?? "interrupted" }
}
