import ArgumentParser
import Operations
import Core
import Decoding
import Glibc

struct DeadLettersReplay: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Sends dead letters back to the queues that they came from.",
        discussion: """
            Each is published and confirmed first, then acknowledged: whatever happens in between, it is there twice \
            at worst. What comes back while this runs is not sent again.

            Without --to, dead letters go only into the queues of the configuration. A dead letter that came from \
            another queue, or that the broker does not take, is skipped and named; the others are sent, and the exit \
            code is 65. On a terminal it asks first.
            """)

    @OptionGroup var options: DeadLetterOptions

    @Option(help: ArgumentHelp("Send all to this queue, which the configuration need not have.", valueName: "queue"))
    var to: String?

    @Option(help: "Messages per second.")
    var rate = 500

    @Option(
        help: ArgumentHelp(
            "End when more than this share of what was replayed has arrived in the dead letters again; 100 for never.",
            valueName: "percent"))
    var abortAbove = 50

    @Flag(help: "Say what would go where, and change nothing.")
    var dryRun = false

    @Flag(help: "Do not ask. Required without a filter where no terminal is attached.")
    var yes = false

    func validate() throws {
        guard (1...1_000_000).contains(rate) else { throw ValidationError("--rate is 1 to 1000000") }
        guard (0...100).contains(abortAbove) else { throw ValidationError("--abort-above is 0 to 100") }
        if let to, to.isEmpty || to.utf8.count > 255 || to.hasPrefix("amq.") {
            throw ValidationError("--to names a queue: 1 to 255 bytes; names that start with amq. belong to the broker")
        }
    }

    func run(_ registry: DecoderRegistry) throws {
        let asks = !yes && isatty(STDIN_FILENO) == 1
        guard dryRun || yes || asks || !options.filter.isEmpty else {
            throw ValidationError("there is no filter: --yes replays all dead letters, --dry-run shows them")
        }
        let desk = try DeadLetterDesk(options, registry, verb: "replay")
        guard to != desk.queue else { throw ValidationError("--to is the dead-letter queue itself") }
        let target = to.map { ReplayTarget.queue($0) } ?? ReplayTarget(desk.settings)
        if dryRun || asks {
            let table = try DeadLetterTable(desk, options) { target.queue(from: $0.queue) }
            table.show(asJSON: dryRun && options.json)
            if dryRun { return }
            try desk.confirm("Replay them?", yes: yes)
        }
        var settings = desk.runSettings
        settings.rate = rate
        settings.abortAbove = abortAbove < 100 ? abortAbove : nil
        try desk.report(try desk.run(.replay(to: target), settings), "replayed")
    }
}

struct DeadLettersDiscard: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Removes dead letters for good.",
        discussion: "It takes a filter or --all. Where nobody can be asked, it takes --yes as well.")

    @OptionGroup var options: DeadLetterOptions

    @Flag(help: "All of them.")
    var all = false

    @Flag(help: "Say what would be removed, and change nothing.")
    var dryRun = false

    @Flag(help: "Do not ask.")
    var yes = false

    func validate() throws {
        guard all != !options.filter.isEmpty else {
            throw ValidationError("either a filter or --all says what is to be discarded")
        }
    }

    func run(_ registry: DecoderRegistry) throws {
        guard dryRun || yes || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("nobody can be asked here: --yes discards without asking")
        }
        let desk = try DeadLetterDesk(options, registry, verb: "discard")
        if dryRun || !yes {
            try DeadLetterTable(desk, options).show(asJSON: dryRun && options.json)
            if dryRun { return }
            try desk.confirm("Discard them for good?", yes: yes)
        }
        try desk.report(try desk.run(.discard, desk.runSettings), "discarded")
    }
}
