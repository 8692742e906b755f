import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime

/// Common code of all commands about one dead-letter queue.
struct DeadLetterAccess {
    let settings: Configuration
    let queue: String
    let reader: RequestReader
    private let isJSON: Bool
    private let name: String

    /// - Parameters:
    ///   - queue: `nil` for the configuration's dead-letter queue.
    ///   - verb: part of the connections' names, which identify the holder of the lock.
    init(_ configuration: ConfigurationOption, queue: String?, asJSON isJSON: Bool, verb: String) throws {
        settings = try configuration.load()
        self.queue = queue ?? settings.deadLetter.routingKey
        reader = RequestReader(settings)
        self.isJSON = isJSON
        name = "harebell dead-letters \(verb) on \(WorkerName.text(index: 0))"
    }

    func run(
        _ action: DeadLetterRun.Action, _ edit: (inout DeadLetterRun.Settings) -> Void
    ) throws -> DeadLetterRun {
        let runner = try LoopRunner()
        var random = SystemRandomNumberGenerator()
        var settings = DeadLetterRun.Settings(queue: queue)
        edit(&settings)
        let run = try DeadLetterRun(
            action, settings, reader: reader, id: NotificationID.random(using: &random).description, at: runner.now,
            connect: runner.connections(name, self.settings.broker, connectTimeout: BrokerProgress.attempt))
        try runner.run(run, showing: ProgressBar(isWanted: !isJSON))
        return run
    }

    /// Calls `visit` with each message that matches the filter, up to the limit. Ends the command unless all are read.
    func read(
        _ edit: (inout DeadLetterRun.Settings) -> Void, _ visit: @escaping (Delivery, DeadLetter) -> Void
    ) throws -> DeadLetterRun {
        let run = try run(.read(visit), edit)
        try check(run)
        return run
    }

    /// Prints the result of a run and ends the command with its status.
    ///
    /// - Parameter verb: the action, in the past tense.
    func report(_ run: DeadLetterRun, _ verb: String) throws {
        let tally = run.tally
        if isJSON {
            printLine(json: [
                ("queue", .text(queue)), ("end", .text(run.end?.name ?? "failed")),
                ("detail", run.end == .complete ? .null : .text(run.explanation)),
                ("messages", .integer(tally.atStart)), ("seen", .integer(tally.seen)),
                ("chosen", .integer(tally.chosen)), (verb, .integer(tally.done)), ("left", .integer(tally.left)),
                ("refused", .integer(tally.refused)), ("complaints", .array(tally.complaints.map { .text($0) })),
                ("uncertain", .integer(tally.uncertain)),
            ])
        } else if tally.seen > 0 || run.end == .complete {
            printLine("\(verb.padded(to: 10))  \(tally.done)")
            printLine("left        \(tally.left)")
            if tally.refused > 0 { printLine("refused     \(tally.refused)") }
            if tally.uncertain > 0 { printLine("uncertain   \(tally.uncertain), perhaps there twice") }
            for complaint in tally.complaints { complain(complaint) }
        }
        if tally.accepted > 0 { complain(Self.acceptedStay(tally.accepted)) }
        try check(run)
    }

    static func acceptedStay(_ count: Int) -> String {
        "\(count) stay because APNs accepted their requests: 'replay --outcome accepted' notifies again"
    }

    /// Ends the command unless the run did everything.
    private func check(_ run: DeadLetterRun) throws {
        if let end = run.end, end != .complete { complain(run.explanation) }
        switch run.end {
        case .locked?, .failed?: throw Status.unavailable
        case .unwritable?: throw Status.internal
        case .stopped?: throw Status.refused
        case .complete?, nil: if run.tally.refused > 0 || run.tally.uncertain > 0 { throw Status.refused }
        }
    }
}
