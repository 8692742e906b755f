import AMQP
import ArgumentParser
import Operations
import Configuration
import Core
import Decoding
import Runtime
import System

struct DeadLettersExport: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes dead letters to a file, one JSON object per line.",
        discussion: """
            The file contains device tokens and payloads; only its owner may read it. With --discard, each message is \
            removed from the queue after its line is on the disk.

            Example: harebell dead-letters export --file letters.jsonl
            """)

    @OptionGroup var options: DeadLetterOptions

    @Option(help: ArgumentHelp("The new file, which must not exist.", valueName: "file"))
    var file: String

    @Flag(help: "Remove the exported messages from the queue.")
    var discard = false

    func run(_ registry: DecoderRegistry) throws {
        let access = try DeadLetterAccess(options, registry, verb: "export")
        let writer: LineWriter
        do throws(WholeFile.Failure) {
            writer = try LineWriter(creating: file)
        } catch {
            throw ValidationError("--file: cannot create \(file): \(error)")
        }
        if discard {
            let run = try access.run(
                .export { lines in
                    for line in lines { try writer.write(line) }
                    try writer.sync()
                }, access.runSettings)
            return try access.report(run, "exported")
        }
        try copy(access, to: writer)
    }

    private func copy(_ access: DeadLetterAccess, to writer: LineWriter) throws {
        var exported = 0
        var unreadable = 0
        var failure: WholeFile.Failure?
        let scan = try access.scan(options.filter, limit: options.limit) { delivery, _ in
            let line: [UInt8]
            do throws(AMQPError) {
                line = try ArchiveWriter.line(delivery, from: access.queue)
            } catch {
                unreadable += 1
                return true
            }
            do throws(WholeFile.Failure) {
                try writer.write(line)
                exported += 1
                return true
            } catch {
                failure = error
                return false
            }
        }
        do throws(WholeFile.Failure) {
            if let failure { throw failure }
            try writer.sync()
        } catch {
            complain("cannot write \(file): \(error)")
            throw Status.internal
        }
        if options.json {
            printLine(json: [
                ("queue", .text(access.queue)), ("messages", .integer(scan.atStart)),
                ("exported", .integer(exported)), ("refused", .integer(unreadable)),
            ])
        } else {
            printLine("exported    \(exported) of \(scan.atStart) messages")
        }
        guard unreadable == 0 else {
            complain("\(unreadable) messages have headers that cannot be read whole: they are not in the file")
            throw Status.refused
        }
    }
}

struct DeadLettersImport: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Publishes the messages of an exported file, with confirms.",
        discussion: """
            The whole file is checked first. All messages go to one queue: the dead-letter queue, from which replay \
            sends each back, or another one.

            Example: harebell dead-letters import --file letters.jsonl --dry-run
            """)

    @OptionGroup var configuration: ConfigurationOption

    @Option(help: ArgumentHelp("The exported file.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The target. Default: the dead-letter queue.", valueName: "queue"))
    var to: String?

    @Option(help: "Messages per second. Default: as fast as the broker accepts them.")
    var rate: Int?

    @Flag(help: "Check the file without publishing.")
    var dryRun = false

    @Flag(help: "One JSON object instead of a table.")
    var json = false

    func validate() throws {
        guard rate.map((1...1_000_000).contains) ?? true else { throw ValidationError("--rate is 1 to 1000000") }
    }

    func run(_ registry: DecoderRegistry) throws {
        let settings = try configuration.load(registry).configuration
        let queue = to ?? settings.deadLetter.routingKey
        let count = try check(settings)
        guard !dryRun else { return report(queue, count, ArchiveImport.Tally()) }
        let runner = try LoopRunner()
        let lines = try open(settings)
        let publisher = try runner.connections("harebell dead-letters import", settings.broker)(.publisher)
        let run = ArchiveImport(to: queue, count: count, rate: rate, publisher: publisher, at: runner.now) {
            try lines.next().map { try ArchivedMessage(line: $0) }
        }
        try runner.run(run, showing: ProgressBar(isWanted: !json))
        report(queue, count, run.tally)
        if let complaint = run.tally.complaint { complain(complaint) }
        if case .failed(let message) = run.end {
            complain(message)
            throw Status.unavailable
        }
        if run.end == .stopped || run.tally.refused > 0 || run.tally.uncertain > 0 { throw Status.refused }
    }

    private func report(_ queue: String, _ count: Int, _ tally: ArchiveImport.Tally) {
        if json {
            printLine(json: [
                ("queue", .text(queue)), ("messages", .integer(count)),
                ("imported", .integer(tally.confirmed)), ("refused", .integer(tally.refused)),
                ("uncertain", .integer(tally.uncertain)),
            ])
        } else {
            printLine("imported    \(tally.confirmed) of \(count) messages into \(queue)")
        }
    }

    private func open(_ settings: Configuration) throws -> LineReader {
        do throws(WholeFile.Failure) {
            // Base64 makes a body a third longer. Headers fit into a frame, and escaping makes them up to six times
            // longer.
            return try LineReader(file, longestLine: settings.broker.maximumMessage * 2 + 1_048_576)
        } catch {
            throw ValidationError("--file: cannot read \(file): \(error)")
        }
    }

    /// - Returns: the number of messages.
    private func check(_ settings: Configuration) throws -> Int {
        let lines = try open(settings)
        do {
            while let line = try lines.next() { _ = try ArchivedMessage(line: line) }
        } catch {
            complain("\(file):\(lines.line): \(error)")
            throw Status.refused
        }
        return lines.line
    }
}
