import ArgumentParser
import Decoding

/// A command that has to do with configurations, for which it has to know what formats there are.
protocol ConfiguredCommand: ParsableCommand {
    mutating func run(_ registry: DecoderRegistry) throws
}
