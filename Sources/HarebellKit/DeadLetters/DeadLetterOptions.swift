import AMQP
import ArgumentParser
import Operations
import Configuration
import Core
import Decoding
import Glibc
import Runtime
import System

/// A dead-letter queue and a filter for its messages.
struct DeadLetterOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The dead-letter queue. Default: the configuration's.")
    var queue: String?

    @Option(help: "The reason of APNs or the broker (rejected, expired, maxlen, delivery_limit); may be repeated.")
    var reason: [String] = []

    @Option(help: "The outcome of the result; may be repeated.")
    var outcome: [String] = []

    @Option(help: ArgumentHelp("The app's topic.", valueName: "topic"))
    var app: String?

    @Option(help: "The app's environment: production or development.")
    var environment: String?

    @Option(help: ArgumentHelp("Failed at this time or later: RFC 3339, or how long ago, as in 2h.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Failed before this time.", valueName: "time"))
    var until: String?

    @Option(help: ArgumentHelp("The queue that it came from.", valueName: "queue"))
    var origin: String?

    @Option(help: ArgumentHelp("The maximum number, the oldest first.", valueName: "count"))
    var limit: Int?

    @Flag(help: "One JSON object instead of a table.")
    var json = false

    func validate() throws {
        for (name, time) in [("--since", since), ("--until", until)] {
            guard time.map({ WallTime(argument: $0, now: WallTime(milliseconds: 0)) != nil }) ?? true else {
                throw ValidationError("\(name) is a time as 2026-11-21T22:00:00Z, or how long ago, as 90m, 2h or 3d")
            }
        }
        for outcome in outcome where !Outcome.allCases.contains(where: { $0.name.description == outcome }) {
            let names = Outcome.allCases.map(\.name.description).joined(separator: ", ")
            throw ValidationError("--outcome is one of \(names)")
        }
        guard environment.map({ Environment(rawValue: $0) != nil }) ?? true else {
            throw ValidationError("--environment is production or development")
        }
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit is at least 1") }
    }

    var filter: DeadLetterFilter {
        let now = SystemClock.now().wall
        var filter = DeadLetterFilter()
        filter.outcomes = outcome
        filter.reasons = reason
        filter.topic = app
        filter.environment = environment.flatMap(Environment.init)
        filter.since = since.flatMap { WallTime(argument: $0, now: now) }
        filter.until = until.flatMap { WallTime(argument: $0, now: now) }
        filter.origin = origin
        return filter
    }
}

/// Common code of all commands about one dead-letter queue.
final class DeadLetterAccess {
    let settings: Configuration
    let queue: String
    let reader: RequestReader
    private let options: DeadLetterOptions
    private let name: String

    /// - Parameter verb: part of the connections' names, which identify the holder of the lock.
    init(_ options: DeadLetterOptions, _ registry: DecoderRegistry, verb: String) throws {
        settings = try options.configuration.load(registry).configuration
        queue = options.queue ?? settings.deadLetter.routingKey
        reader = RequestReader(settings)
        self.options = options
        name = "harebell dead-letters \(verb) on \(WorkerName.text(index: 0))"
    }

    /// Scans the queue; ends the command if that fails.
    ///
    /// - Parameter visit: called with each message that matches the filter, up to the limit; returns false to stop.
    @discardableResult
    func scan(
        _ filter: DeadLetterFilter, limit: Int? = nil, _ visit: @escaping (Delivery, DeadLetter) -> Bool
    ) throws -> DeadLetterScan {
        let runner = try LoopRunner()
        var chosen = 0
        let scan = try DeadLetterScan(queue, at: runner.now, connect: runner.connections(name, settings.broker)) {
            [reader] delivery, letter in
            guard filter.matches(letter, delivery, reader) else { return true }
            chosen += 1
            return visit(delivery, letter) && chosen < limit ?? .max
        }
        try runner.run(scan, showing: ProgressBar(isWanted: !options.json))
        switch scan.end {
        case .failed(let message)?:
            complain(message)
            throw Status.unavailable
        case .stopped?: throw Status.refused
        case .complete?, nil: break
        }
        if scan.worn > 0 { try renew(scan.worn) }
        return scan
    }

    /// Republishes messages that a delivery limit may soon drop, because they were delivered so often.
    private func renew(_ count: Int) throws {
        complain(
            "\(count) of the messages were delivered so often that a delivery limit of the queue could drop them: "
                + "they were replaced by copies at its end")
        let run = try self.run(.renew, .renewing(queue))
        if run.end != .complete { complain("not all were replaced: \(run.explanation)") }
    }

    /// Takes messages from the queue.
    func run(_ action: DeadLetterRun.Action, _ settings: DeadLetterRun.Settings) throws -> DeadLetterRun {
        let runner = try LoopRunner()
        var random = SystemRandomNumberGenerator()
        let run = try DeadLetterRun(
            action, settings, reader: reader, id: NotificationID.random(using: &random).description, at: runner.now,
            connect: runner.connections(name, self.settings.broker))
        try runner.run(run, showing: ProgressBar(isWanted: !options.json))
        return run
    }

    /// The settings of a run: filter and limit.
    var runSettings: DeadLetterRun.Settings {
        var settings = DeadLetterRun.Settings(queue: queue)
        settings.filter = options.filter
        settings.limit = options.limit ?? .max
        return settings
    }

    /// Asks for confirmation on a terminal; otherwise, or with `--yes`, continues without asking.
    func confirm(_ question: String, yes: Bool) throws {
        guard !yes, isatty(STDIN_FILENO) == 1 else { return }
        complain("\(question) [y/N]")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else { throw Status.refused }
    }

    /// Prints the result of a run and ends the command with its status.
    ///
    /// - Parameter verb: the action, in the past tense.
    func report(_ run: DeadLetterRun, _ verb: String) throws {
        let tally = run.tally
        if options.json {
            let members: [(String, JSONOutput)] = [
                ("queue", .text(queue)), ("end", .text(run.end?.name ?? "failed")),
                ("detail", run.end == .complete ? .null : .text(run.explanation)),
            ]
            printLine(json: members + tally.members(verb))
        } else if tally.seen > 0 || run.end == .complete {
            let verb = verb.padded(to: 10)
            printLine("\(verb)  \(tally.done)")
            printLine("left        \(tally.left)")
            if tally.refused > 0 { printLine("refused     \(tally.refused)") }
            if tally.renewed > 0 { printLine("moved       \(tally.renewed) to the end of the queue") }
            if tally.uncertain > 0 { printLine("uncertain   \(tally.uncertain), perhaps there twice") }
            for complaint in tally.complaints { complain(complaint) }
        }
        switch run.end {
        case .complete?, nil: break
        case .stopped?: complain(run.explanation)
        case .aborted?:
            complain(run.explanation)
            throw Status.refused
        case .unwritable?:
            complain(run.explanation)
            throw Status.internal
        case .locked?, .failed?:
            complain(run.explanation)
            throw Status.unavailable
        }
        if tally.refused > 0 || tally.uncertain > 0 || run.end == .stopped { throw Status.refused }
    }
}

extension String {
    /// Padded with spaces to a width.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
