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
        let settings = Schema.configuration.settings
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
