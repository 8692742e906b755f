import ArgumentParser
import Core
import System

/// A dead-letter queue and a filter for its messages.
struct DeadLetterOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The dead-letter queue. Default: the configuration's.")
    var queue: String?

    @Option(
        help: "The reason of APNs or the broker (rejected, expired, maxlen, delivery_limit); may be repeated.",
        transform: Self.reason)
    var reason: [String] = []

    @Option(help: "The outcome of the result; may be repeated.", transform: Self.outcome)
    var outcome: [String] = []

    @Option(help: "The app's topic, also with a suffix.")
    var topic: String?

    @Option(help: ArgumentHelp("Former name of --topic.", visibility: .hidden))
    var app: String?

    @Option(help: "The app's environment: production or development.")
    var environment: Environment?

    @Option(
        help: ArgumentHelp("Failed at this time or later: RFC 3339, or how long ago, as in 2h.", valueName: "time"),
        transform: Self.time)
    var since: WallTime?

    @Option(help: ArgumentHelp("Failed before this time.", valueName: "time"), transform: Self.time)
    var until: WallTime?

    @Option(help: ArgumentHelp("The queue that it came from.", valueName: "queue"))
    var origin: String?

    @Option(help: ArgumentHelp("The maximum number, the oldest first.", valueName: "count"))
    var limit: Int?

    @Flag(help: "One JSON object instead of a table.")
    var json = false

    func validate() throws {
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit is at least 1") }
    }

    var filter: DeadLetterFilter {
        DeadLetterFilter(
            outcomes: outcome, reasons: reason, topic: topic ?? app, environment: environment, since: since,
            until: until, origin: origin)
    }

    func access(verb: String) throws -> DeadLetterAccess {
        _ = former(app, "--app", now: "--topic")
        return try DeadLetterAccess(configuration, queue: queue, asJSON: json, verb: verb)
    }

    func select(_ settings: inout DeadLetterRun.Settings) {
        settings.filter = filter
        settings.limit = limit ?? .max
    }

    private static func time(_ text: String) throws -> WallTime {
        guard let time = WallTime(argument: text, now: SystemClock.now().wall) else {
            throw ValidationError("expected a time as 2026-11-21T22:00:00Z, or how long ago, as 90m, 2h or 3d")
        }
        return time
    }

    /// The reasons of APNs and of the broker are known; other software may give others.
    private static func reason(_ text: String) throws -> String {
        let known =
            ResponseRule.all.map(\.reason.description) + ["rejected", "expired", "maxlen", "delivery_limit"]
        if !known.contains(text), let other = known.first(where: { $0.lowercased() == text.lowercased() }) {
            throw ValidationError("reasons are case-sensitive; did you mean \"\(other)\"?")
        }
        return text
    }

    private static func outcome(_ text: String) throws -> String {
        let names = Outcome.allCases.map(\.name.description)
        guard names.contains(text) else { throw ValidationError("expected one of \(names.joined(separator: ", "))") }
        return text
    }
}

extension DeadLetterRun.Settings {
    static func check(rate: Int?) throws {
        guard rate.map(rates.contains) ?? true else {
            throw ValidationError("--rate is \(rates.lowerBound) to \(rates.upperBound)")
        }
    }
}
