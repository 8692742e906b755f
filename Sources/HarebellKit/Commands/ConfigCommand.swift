import ArgumentParser
import Configuration
import Decoding

struct ConfigCommand: ConfiguredCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Shows what the configuration file may say.")

    @Flag(help: "Print every key with its type, default, range and one sentence.")
    var reference = false

    func run(_ registry: DecoderRegistry) throws {
        guard reference else { throw CleanExit.helpRequest(self) }
        let text = ConfigurationReference(registry.schema).text
        say(lines: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }
}
