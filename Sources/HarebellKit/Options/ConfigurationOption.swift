import ArgumentParser
import Configuration
import Core
import Decoding
import Logging
import Runtime
import Settings
import System

/// `--config FILE`, for every command that reads one.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .customLong("config"), help: ArgumentHelp("The configuration file.", valueName: "file"))
    var file: String

    /// Reads the file; says all of its problems and ends the command where there are errors.
    func load(_ registry: DecoderRegistry) throws -> ConfigurationDocument {
        try Self.load(file, registry)
    }

    /// Likewise, for a command that can do without.
    static func load(_ file: String, _ registry: DecoderRegistry) throws -> ConfigurationDocument {
        let document = try read(file, registry)
        for warning in document.warnings { complain(warning.description) }
        return document
    }

    /// Reads the file and the keys and certificates that it names; likewise.
    func loadWithCredentials(_ registry: DecoderRegistry) throws -> (ConfigurationDocument, CredentialInspection) {
        let now = SystemClock.now().wall
        let document = try Self.read(file, registry) { $0.inspectingFiles(now: now) }
        let inspection = document.inspect(now: now)
        for problem in inspection.problems { complain(problem.description) }
        guard inspection.problems.allSatisfy({ $0.severity == .warning }) else { throw Status.configuration }
        return (document, inspection)
    }

    private static func read(
        _ file: String, _ registry: DecoderRegistry, more: (ConfigurationError) -> ConfigurationError = { $0 }
    ) throws -> ConfigurationDocument {
        do throws(ConfigurationError) {
            return try ConfigurationDocument.load(path: file, registry)
        } catch {
            for problem in more(error).problems { complain(problem.description) }
            throw Status.configuration
        }
    }
}

extension Configuration.Log {
    /// - Parameter threshold: takes the place of ``level``, for loggers whose level is to change.
    func logger(_ label: String, threshold: LogThreshold? = nil) -> Logger {
        let (threshold, format) = (threshold ?? LogThreshold(level), format)
        return Logger(label: label) { label in
            LineLogHandler(label: label, threshold: threshold, format: format, clock: { SystemClock.now().wall })
        }
    }
}
