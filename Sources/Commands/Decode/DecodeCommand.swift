import ArgumentParser
import Configuration
import Core
import Decoding
import Logging
import System

struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Shows what a message decodes to, without sending it.",
        discussion: """
            The file is the body of a message; its headers and properties are options. The decoder is a format or an \
            entry of the configuration file. With a configuration, the output has the app that a worker would choose, \
            with the full topic.

            Exit code 0 if the message would be sent, ignored or deferred, 65 if it would be refused.

            Example: harebell decode --decoder apns-json --file message.json
            """)

    @Option(help: "A format, such as apns-json, or a name in the configuration's decoders. Default: the queue's.")
    var decoder: String?

    @Option(help: ArgumentHelp("The message's body; - reads standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "An AMQP header as name=text, or name:=value for an integer, true or false.", valueName: "name=value"))
    var headers: [String] = []

    @Option(
        name: .customLong("property"),
        help: ArgumentHelp(
            "One of \(OneOffDelivery.properties.joined(separator: ", ")).", valueName: "name=value"))
    var properties: [String] = []

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: "The message's queue: the apns-id depends on its name. Default: the first one.")
    var queue: String?

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func run() throws {
        let settings = try configuration.fileIfAny.map { _ in try configuration.load() }
        // The default of broker.max_message_bytes.
        let limit = settings?.broker.maximumMessage ?? 262_144
        let decoders = if let settings { DecoderSet(settings.decoders) } else { DecoderSet() }
        let queue = queue ?? settings?.queues[0].name ?? "push.requests"
        let decoder = decoder ?? settings?.queues.first { $0.name == queue }?.decoder ?? "auto"
        var delivery = try readDelivery(limit)
        var unreadable: DecodingFailure?
        do throws(DecodingFailure) {
            delivery = try delivery.readable(limit: limit)
        } catch {
            unreadable = error
        }
        guard let found = decoders[decoder] else {
            throw ValidationError("--decoder: \(decoders.complaint(about: decoder) ?? "unknown")")
        }
        let decoded: Decoded =
            if let unreadable {
                .reject(unreadable)
            } else if let process = found as? ProcessDecoder {
                try ask(process, delivery, decoder, settings?.log)
            } else {
                found.decode(delivery, at: SystemClock.now().wall)
            }
        let report = try DecodingReport(decoded, of: delivery, by: decoder, from: queue, settings)
        if json { printLine(json: report.json) } else { printLine(lines: report.lines) }
        if report.isRefused { throw Status.refused }
    }

    private func ask(
        _ process: ProcessDecoder, _ delivery: Delivery, _ decoder: String, _ log: Configuration.Log?
    ) throws -> Decoded {
        let runner = try LoopRunner()
        let trial = ProcessTrial(
            delivery, decoder: decoder, process, host: ProgramRunner(runner.network),
            log: log?.logger("harebell") ?? Logger(label: "harebell"), at: runner.now)
        try runner.run(trial)
        guard let decoded = trial.decoded else {
            let name = process.options.program.name
            try quit("the decoder's program \(name): \(trial.failure)", Status.unavailable)
        }
        return decoded
    }

    private func readDelivery(_ limit: Int) throws -> Delivery {
        let body = try validating("--file: cannot read \(file)") {
            try WholeFile.read(fileOrStandardInput: file, upTo: limit)
        }
        var delivery = OneOffDelivery(body: body)
        for header in headers {
            guard let (name, value) = Self.header(header) else {
                throw ValidationError("--header \(header): expected name=text, or name:=integer, true or false")
            }
            delivery.add(header: name, value)
        }
        for property in properties {
            guard let (name, value) = Self.split(property), delivery.set(property: name, value) else {
                throw ValidationError(
                    "--property \(property): expected name=value with one of "
                        + OneOffDelivery.properties.joined(separator: ", "))
            }
        }
        return delivery.delivery
    }

    private static func header(_ text: String) -> (String, OneOffDelivery.HeaderValue)? {
        guard let (name, value) = split(text) else { return nil }
        guard name.hasSuffix(":"), name.count > 1 else { return (name, .text(value)) }
        let typed = String(name.dropLast())
        if let integer = Int64(value) { return (typed, .integer(integer)) }
        if value == "true" || value == "false" { return (typed, .boolean(value == "true")) }
        return nil
    }

    /// - Returns: `nil` unless there is a name before the equals sign.
    private static func split(_ text: String) -> (String, String)? {
        guard let place = text.firstIndex(of: "="), place > text.startIndex else { return nil }
        return (String(text[..<place]), String(text[text.index(after: place)...]))
    }
}
