import ArgumentParser
import Decoding

/// A command that reads configurations and therefore needs the list of formats.
protocol ConfiguredCommand: ParsableCommand {
    mutating func run(_ registry: DecoderRegistry) throws
}
