import ArgumentParser
import Configuration
import Core
import Decoding

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Publishes test requests, collects the results, prints throughput, latencies, losses and duplicates.",
        discussion: """
            Each message has a reply_to queue of this run. The run survives restarts of the broker and of the worker. \
            A second result for a message counts as a duplicate, a result for an unknown message as a stranger.

            The app of the messages needs an endpoint, such as a simulator: invented device tokens sent to Apple would \
            pause it.

            Exit code 65 if a message has no result, 69 if the broker prevents it.

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

    @Option(help: "The run ends after so many seconds without a result or a confirmed message.")
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
        let settings = try configuration.load()
        let names = settings.queues.map(\.name)
        guard let queue = queue ?? (names.count == 1 ? names[0] : nil) else {
            throw ValidationError("which queue? Name one with --queue: \(names.joined(separator: ", "))")
        }
        let topic = topic ?? settings.apps[0].topic
        try Self.refuseApple(settings.apps.meant(by: topic), topic)
        let timeout = former(patience, "--patience", now: "--timeout") ?? timeout
        let runner = try LoopRunner()
        let name = "load-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        let run = try RequestRun(
            RequestRun.Settings(
                queue: queue, count: count, rate: rate, replies: "harebell.\(name)", timeLimit: .seconds(timeout)),
            LoadPlan(run: name, topic: topic, mix: mix, bodySize: bodySize), at: runner.now,
            connect: runner.connections("harebell load", settings.broker))
        try runner.run(run, showing: ProgressBar(isWanted: !json))
        try report(run)
    }

    private static func refuseApple(_ apps: [Configuration.App], _ topic: String) throws {
        guard !apps.isEmpty else { throw ValidationError("no app \"\(topic)\" is configured") }
        for app in apps where app.endpoint.host.lowercased().hasSuffix(".push.apple.com") {
            throw ValidationError(
                "\(topic) (\(app.environment.rawValue)) has no endpoint but Apple's: its invented tokens would go to "
                    + "Apple, which pauses the app; set apps[].endpoint to a simulator")
        }
    }

    private func report(_ run: RequestRun) throws {
        let ledger = run.ledger
        let latencies = ledger.latencies.sorted()
        let seconds = ledger.elapsed.inSeconds
        func rounded(_ number: Double?) -> JSONOutput {
            number.map { .number(($0 * 1000).rounded() / 1000) } ?? .null
        }
        func milliseconds(_ share: Double) -> JSONOutput {
            rounded(LoadLedger.percentile(share, of: latencies).map { $0.inSeconds * 1000 })
        }
        let outcomes = ledger.outcomes.sorted { $0.key < $1.key }.map { ($0.key, JSONOutput.integer($0.value)) }
        printAnswer(
            [
                ("published", .integer(ledger.published)), ("answered", .integer(ledger.responded)),
                ("missing", .integer(ledger.missing)), ("duplicates", .integer(ledger.duplicates)),
                ("strangers", .integer(ledger.strangers)), ("seconds", rounded(seconds)),
                ("per_second", rounded(seconds > 0 ? Double(ledger.responded) / seconds : nil)),
                ("p50_ms", milliseconds(0.5)), ("p90_ms", milliseconds(0.9)), ("p99_ms", milliseconds(0.99)),
                ("p999_ms", milliseconds(0.999)), ("max_ms", milliseconds(1)),
                ("outcomes", .object(outcomes)),
            ], asJSON: json)
        switch run.end {
        case .complete?: break
        case .timedOut(BrokerProgress.silence)? where run.areQueued:
            try quit("without a result: \(ledger.missing); check that a worker reads the queue", Status.refused)
        case .timedOut(let cause)?, .failed(let cause)?: try quit(cause, Status.unavailable)
        case .stopped?, nil: throw Status.refused
        }
    }
}

extension LoadPlan.Mix: ExpressibleByArgument {}
