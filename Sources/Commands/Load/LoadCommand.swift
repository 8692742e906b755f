import AMQP
import ArgumentParser
import Configuration
import Core
import Decoding
import Runtime

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Publishes test requests, collects the results, prints throughput, latencies, losses and duplicates.",
        discussion: """
            Each message has a reply_to queue of this run. The run survives restarts of the broker and of the worker. \
            A second result for a message counts as a duplicate, a result for an unknown message as a stranger.

            The app of the messages needs an endpoint, such as a simulator: invented device tokens sent to Apple would \
            pause it.

            Exit code 65 if a message has no result.

            Example: harebell load --count 1000 --rate 100
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The queue to publish to; required if several are configured.")
    var queue: String?

    @Option(help: "The number of messages.")
    var count: Int

    @Option(help: "Messages per second. Default: as fast as the broker accepts them.")
    var rate: Int?

    @Option(help: "The topic of the messages. Default: the first app's.")
    var topic: String?

    @Option(help: "accepted, or varied: a mix with dead and bad tokens and broken messages.")
    var mix = LoadPlan.Mix.accepted

    @Option(help: "Bytes of padding in each alert.")
    var bodySize = 32

    @Option(help: "Seconds without a result that end the run.")
    var timeout = 30

    @Option(help: ArgumentHelp("Former name of --timeout.", visibility: .hidden))
    var patience: Int?

    @Flag(help: "One JSON object instead of a table.")
    var json = false

    func validate() throws {
        guard (1...100_000_000).contains(count) else { throw ValidationError("--count is 1 to 100000000") }
        guard rate.map((1...10_000_000).contains) ?? true else { throw ValidationError("--rate is 1 to 10000000") }
        guard (0...1_000_000).contains(bodySize) else { throw ValidationError("--body-size is 0 to 1000000") }
        guard (1...86400).contains(patience ?? timeout) else { throw ValidationError("--timeout is 1 to 86400") }
    }

    func run() throws {
        let settings = try configuration.load().configuration
        let queue = try settings.queue(named: queue)
        let topic = topic ?? settings.apps[0].topic
        try Self.refuseApple(settings.apps.filter { $0.isMeant(by: topic) }, topic)
        let timeout = former(patience, "--patience", now: "--timeout") ?? timeout
        let runner = try LoopRunner()
        let name = "load-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        let run = try RequestRun(
            RequestRun.Settings(
                queue: queue, count: count, rate: rate, replies: "harebell.\(name)", timeLimit: .seconds(timeout)),
            LoadPlan(run: name, topic: topic, mix: mix, bodySize: bodySize), at: runner.now,
            connect: runner.connections("harebell load", settings.broker))
        try runner.run(run, showing: ProgressBar(isWanted: !json, showsRate: true))
        try report(run)
    }

    private static func refuseApple(_ apps: [Configuration.App], _ topic: String) throws {
        guard !apps.isEmpty else { throw ValidationError("no app \"\(topic)\" is configured") }
        for app in apps where app.environment.host == app.endpoint.host {
            throw ValidationError(
                "\(topic) (\(app.environment.rawValue)) has no endpoint: its invented device tokens would go to "
                    + "Apple, which pauses the app; set apps[].endpoint to a simulator")
        }
    }

    private func report(_ run: RequestRun) throws {
        let ledger = run.ledger
        let latencies = ledger.latencies
        let seconds = ledger.elapsed.inSeconds
        let throughput = seconds > 0 ? Double(ledger.responded) / seconds : nil
        func milliseconds(_ share: Double) -> Double? {
            LoadLedger.percentile(share, of: latencies).map { $0.inSeconds * 1000 }
        }
        func json(_ number: Double?) -> JSONOutput { number.map { .number($0) } ?? .null }
        func text(_ number: Double?, _ digits: Int) -> String { number.map { fixed($0, digits) } ?? "–" }
        let outcomes = ledger.outcomes.sorted { $0.key < $1.key }
        if self.json {
            printLine(json: [
                ("published", .integer(ledger.published)), ("answered", .integer(ledger.responded)),
                ("missing", .integer(ledger.missing)), ("duplicates", .integer(ledger.duplicates)),
                ("strangers", .integer(ledger.strangers)), ("seconds", .number(seconds)),
                ("per_second", json(throughput)),
                ("p50_ms", json(milliseconds(0.5))), ("p90_ms", json(milliseconds(0.9))),
                ("p99_ms", json(milliseconds(0.99))), ("p999_ms", json(milliseconds(0.999))),
                ("max_ms", json(milliseconds(1))),
                ("outcomes", .object(outcomes.map { ($0.key, .integer($0.value)) })),
            ])
        } else {
            printLine("published    \(ledger.published)")
            printLine("answered     \(ledger.responded) in \(fixed(seconds, 2)) s, \(text(throughput, 0)) a second")
            for outcome in outcomes { printLine("             \(outcome.value) \(outcome.key)") }
            printLine("missing      \(ledger.missing)")
            printLine("duplicates   \(ledger.duplicates)")
            printLine("strangers    \(ledger.strangers)")
            let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
            printLine(
                "latency      " + shares.map { "\($0.0) \(text(milliseconds($0.1), 1))" }.joined(separator: "  ")
                    + "  ms")
        }
        switch run.end {
        case .complete?: return
        case .timedOut(let message)? where ledger.published == 0: try unavailable(message)
        case .failed(let message)?: try unavailable(message)
        case .timedOut?, .stopped?, nil: throw Status.refused
        }
    }

    /// A decimal number with this number of digits after the point.
    private func fixed(_ number: Double, _ digits: Int) -> String {
        let scale = [1, 10, 100][digits]
        let scaled = Int((number * Double(scale)).rounded())
        guard digits > 0 else { return String(scaled) }
        let fraction = String(scaled % scale)
        return "\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

extension LoadPlan.Mix: ExpressibleByArgument {}
