import ArgumentParser
import Configuration
import Glibc

struct DeadLettersReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Sends dead letters back to the queues that they came from.",
        discussion: """
            Each message is published and confirmed before it is acknowledged: after a failure it may exist twice, but \
            it is not lost. A message that returns during the run is not sent again.

            Without --to, dead letters go only into queues of the configuration. A dead letter from another queue, or \
            one that the broker refuses, is skipped and reported, and the exit code is 65. Dead letters of requests \
            that APNs accepted stay without --outcome accepted. On a terminal the command asks for confirmation.

            Example: harebell dead-letters replay --outcome undelivered --rate 100
            """)

    @OptionGroup var options: DeadLetterOptions

    @Option(help: ArgumentHelp("Send all to this queue, even if it is not configured.", valueName: "queue"))
    var to: String?

    @Option(help: "Messages per second.")
    var rate = DeadLetterRun.Settings.defaultRate

    @Flag(help: "Show where each would go, without changes.")
    var dryRun = false

    @Flag(help: "Do not ask. Required without a filter if no terminal is attached.")
    var yes = false

    func validate() throws {
        try DeadLetterRun.Settings.check(rate: rate)
        if let to, to.isEmpty || to.utf8.count > 255 || to.hasPrefix("amq.") {
            throw ValidationError("--to is a queue name of 1 to 255 bytes; names that start with amq. are reserved")
        }
    }

    func run() throws {
        let asks = !yes && isatty(STDIN_FILENO) == 1
        guard dryRun || yes || asks || !options.filter.isEmpty else {
            throw ValidationError("there is no filter: --yes replays all dead letters, --dry-run shows them")
        }
        let access = try options.access(verb: "replay")
        guard to != access.queue else { throw ValidationError("--to is the dead-letter queue: name another queue") }
        // A producer may have written a letter's headers, and RabbitMQ checks no permissions on the default exchange:
        // without a named queue, a header must not give access to every queue of the virtual host.
        let configured = Set(access.settings.queues.map(\.name))
        let target: (String?) -> String? = { [to] origin in
            to ?? origin.flatMap { configured.contains($0) ? $0 : nil }
        }
        if dryRun || asks {
            let table = try DeadLetterTable(access, options, target: target)
            guard table.isConfirmed(options, "Replay", isDry: dryRun) else { return }
        }
        let run = try access.run(.replay(to: target)) {
            options.select(&$0)
            $0.rate = rate
        }
        try access.report(run, "replayed")
    }
}

struct DeadLettersDiscard: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Removes dead letters permanently.",
        discussion: """
            Requires a filter or --all, and without a terminal also --yes.

            Example: harebell dead-letters discard --outcome invalid --dry-run
            """)

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "Discard all.")
    var all = false

    @Flag(help: "Show what would be removed, without changes.")
    var dryRun = false

    @Flag(help: "Do not ask.")
    var yes = false

    func validate() throws {
        guard all != !options.filter.isEmpty else {
            throw ValidationError("expected a filter or --all")
        }
    }

    func run() throws {
        guard dryRun || yes || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("there is no terminal to ask for confirmation: add --yes")
        }
        let access = try options.access(verb: "discard")
        if dryRun || !yes {
            let table = try DeadLetterTable(access, options)
            guard table.isConfirmed(options, "Permanently discard", isDry: dryRun) else { return }
        }
        try access.report(try access.run(.discard, options.select), "discarded")
    }
}
