import ArgumentParser
import Configuration
import Core
import Decoding
import Glibc
import Pipeline
import System

struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one notification directly to APNs, or through a queue, and prints its result.",
        discussion: """
            Prints the JSON result that a worker would publish; on a terminal, as a table. An invalid notification is \
            not sent, and the result gives the reason.

            Exit code 0 if APNs accepted it, 65 if it was refused, 69 if it was not delivered.

            Example: harebell send --device-token 00fc… --title Hello --body World
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: ArgumentHelp("The device token, in hexadecimal digits.", valueName: "token"))
    var deviceToken: String?

    @Option(help: ArgumentHelp("The channel for a broadcast, in base64.", valueName: "id"))
    var channel: String?

    @Option(help: ArgumentHelp("The payload; - reads standard input.", valueName: "file"))
    var payload: String?

    @Option(help: "The title of an alert, instead of --payload.")
    var title: String?

    @Option(help: "The text of the alert.")
    var body: String?

    @OptionGroup var app: AppOption

    @Option(help: "One of Apple's push types. Default: derived from an unambiguous payload.")
    var pushType: String?

    @Option(help: "The priority: 10, 5 or 1.")
    var priority: Int64?

    @Option(
        help: ArgumentHelp("Expiration; 0 for a single delivery attempt.", valueName: "seconds since 1970"))
    var expiration: Int64?

    @Option(help: "At most 64 bytes; replaces the earlier notification with this ID.")
    var collapseId: String?

    @Option(help: ArgumentHelp("The apns-id. Default: a new one.", valueName: "UUID"))
    var id: String?

    @Option(help: "Send through this queue and a worker, not directly to APNs.")
    var queue: String?

    @Option(
        help: "Seconds to wait for the result. Default: 60 with --queue, else the time limits of the configuration.")
    var timeout: Int?

    @Flag(help: "Print JSON on a terminal, too.")
    var json = false

    func validate() throws {
        guard (deviceToken == nil) != (channel == nil) else {
            throw ValidationError("expected either --device-token or --channel")
        }
        guard (payload == nil) != (title == nil && body == nil) else {
            throw ValidationError("expected either --payload or --title and --body")
        }
        guard timeout.map((1...86400).contains) ?? true else { throw ValidationError("--timeout is 1 to 86400") }
    }

    func run() throws {
        let settings = try configuration.load()
        // For a request in a queue, the worker chooses the app.
        if queue == nil {
            var app = app
            // A certificate may name one topic.
            if app.topic == nil { app.topic = try AppTable(settings).unnamedTopic(in: app.environment) }
            _ = try app.choose(from: settings)
        }
        var random = SystemRandomNumberGenerator()
        let request = OneOffRequest(
            id: id ?? NotificationID.random(using: &random).description,
            [
                ("device-token", deviceToken.map { .text($0) }), ("apns-channel-id", channel.map { .text($0) }),
                ("apns-topic", app.topic.map { .text($0) }),
                ("environment", app.environment.map { .text($0.rawValue) }),
                ("apns-push-type", pushType.map { .text($0) }), ("apns-priority", priority.map { .integer($0) }),
                ("apns-expiration", expiration.map { .integer($0) }),
                ("apns-collapse-id", collapseId.map { .text($0) }),
            ], payload: try readPayload(settings.broker.maximumMessage))
        let result = try queue.map { try send(request, through: $0, settings) } ?? send(request, settings)
        if json || isatty(STDOUT_FILENO) == 0 {
            printLine(json: String(decoding: result.json, as: UTF8.self))
        } else {
            printLine(lines: result.lines)
        }
        // Without a time, only a single attempt can expire (0, the default of a broadcast): the request is valid.
        if expiration ?? 0 == 0, result.outcome == .expired { throw Status.unavailable }
        if let status = result.outcome.status { throw status }
    }

    private var alert: [UInt8] {
        let texts = [("title", title), ("body", body)].compactMap { name, text in
            text.map { (name, JSONOutput.text($0)) }
        }
        return Array(JSONOutput.object([("aps", .object([("alert", .object(texts))]))]).description.utf8)
    }

    private func readPayload(_ limit: Int) throws -> [UInt8] {
        guard let payload else { return alert }
        return try validating("--payload: cannot read \(payload)") {
            try WholeFile.read(fileOrStandardInput: payload, upTo: limit)
        }
    }

    private func send(_ request: OneOffRequest, _ settings: Configuration) throws -> OneOffResult {
        let runner = try LoopRunner()
        let notification = try OneOffNotification(
            request, settings, network: runner.network, timeLimit: timeout.map { .seconds($0) },
            log: settings.log.logger("harebell"), seed: UInt64.random(in: 0 ... .max), at: SystemClock.now())
        if let exchange = notification.exchange {
            try runner.run(exchange)
            for alarm in exchange.alarms { complain("\(alarm)") }
        }
        guard let result = notification.result(at: SystemClock.now()) else {
            preconditionFailure("a request has a result")
        }
        return result
    }

    private func send(
        _ request: OneOffRequest, through queue: String, _ settings: Configuration
    ) throws -> OneOffResult {
        // A queue that is not in this configuration is assumed to have the default decoder.
        let decoder = settings.queues.first { $0.name == queue }?.decoder
        guard let form = decoder.map(OneOffRequest.Form.init) ?? .headers else {
            throw ValidationError(
                "queue \"\(queue)\" has the decoder \(decoder ?? ""), whose format send does not write")
        }
        let runner = try LoopRunner()
        let name = "harebell.send-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        var result: OneOffResult?
        let run = try RequestRun(
            request, form,
            RequestRun.Settings(queue: queue, count: 1, replies: name, timeLimit: .seconds(timeout ?? 60)),
            at: runner.now, connect: runner.connections("harebell send", settings.broker)
        ) { result = $0 }
        try runner.run(run, showing: ProgressBar(isWanted: false))
        if let result { return result }
        try quit(run.complaint, Status.unavailable)
    }
}
