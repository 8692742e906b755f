import ArgumentParser
import Configuration
import Decoding

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints every key of the configuration file with its type, default, range and description.",
        discussion: "Example: harebell config")

    /// Once required; scripts may still give it.
    @Flag(help: .hidden)
    var reference = false

    @Flag(help: "One JSON object instead of lines.")
    var json = false

    func run() throws {
        let settings = Schema.settings
        guard !json else {
            let keys = settings.map { setting in
                JSONOutput.object([
                    ("key", .text(setting.path)), ("type", .text(setting.typeText)),
                    ("default", .text(setting.defaultText)),
                    ("range", .optional(setting.rangeText.isEmpty ? nil : setting.rangeText)),
                    ("summary", .text(setting.summary)),
                ])
            }
            return printLine(json: [("keys", .array(keys))])
        }
        printLine(lines: settings.flatMap(\.reference))
    }
}
