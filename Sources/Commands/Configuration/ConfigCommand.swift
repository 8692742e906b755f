import ArgumentParser
import Configuration
import Decoding

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Shows the configuration file's keys.",
        discussion: "Example: harebell config --reference")

    @Flag(help: "Print every key with its type, default, range and description.")
    var reference = false

    @Flag(help: "With --reference: one JSON object instead of lines.")
    var json = false

    func run() throws {
        guard reference else { throw CleanExit.helpRequest(self) }
        let reference = ConfigurationReference(.configuration)
        guard !json else {
            let keys = reference.entries.map { entry in
                JSONOutput.object([
                    ("key", .text(entry.path)), ("type", .text(entry.type)), ("default", .text(entry.defaultValue)),
                    ("range", .optional(entry.range.isEmpty ? nil : entry.range)), ("summary", .text(entry.summary)),
                ])
            }
            return printLine(json: [("keys", .array(keys))])
        }
        printLine(lines: reference.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }
}
