import ArgumentParser
import Configuration
import Decoding
import System

struct DeadLettersExport: ParsableCommand {
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

    func run() throws {
        let access = try options.access(verb: "export")
        let writer = try validating("--file: cannot create \(file)") { try LineWriter(creating: file) }
        // A copy that did not end in order is of no use; a removed message is only in the file.
        var isOfUse = false
        defer { if !isOfUse { writer.remove() } }
        let export = DeadLetterRun.Action.export(discards: discard) { lines in
            do {
                for line in lines { try writer.write(line) }
                // A message is removed only after its line is on the disk.
                guard discard else { return }
                try writer.sync()
                isOfUse = true
            } catch {
                writer.revert()
                throw error
            }
        }
        let run = try access.run(export, options.select)
        do throws(WholeFile.Failure) {
            try writer.sync()
        } catch {
            try quit("cannot write \(file): \(error)", Status.internal)
        }
        isOfUse = isOfUse || run.end == .complete
        try access.report(run, "exported")
    }
}

struct DeadLettersImport: ParsableCommand {
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
        try DeadLetterRun.Settings.check(rate: rate)
    }

    func run() throws {
        let access = try DeadLetterAccess(configuration, queue: to, asJSON: json, verb: "import")
        let count = try check(access.settings)
        guard !dryRun else {
            if json {
                printLine(
                    json: [("queue", .text(access.queue)), ("messages", .integer(count)), ("imported", .integer(0))])
            } else {
                printLine("\(count) message\(count == 1 ? "" : "s") can be imported into \(access.queue)")
            }
            return
        }
        let lines = try open(access.settings)
        let run = try access.run(
            .publish(count: count) { try lines.next().map { line in try ArchivedMessage(line: line) } }
        ) { $0.rate = rate }
        try access.report(run, "imported")
    }

    private func open(_ settings: Configuration) throws -> LineReader {
        // Base64 makes a body a third longer. Headers fit into a frame, and escaping makes them up to six times longer.
        let longestLine = settings.broker.maximumMessage * 2 + 1_048_576
        return try validating("--file: cannot read \(file)") { try LineReader(file, longestLine: longestLine) }
    }

    /// - Returns: the number of messages.
    private func check(_ settings: Configuration) throws -> Int {
        let lines = try open(settings)
        do {
            while let line = try lines.next() { _ = try ArchivedMessage(line: line) }
        } catch {
            try quit("\(file):\(lines.line): \(error)", Status.refused)
        }
        return lines.line
    }
}
