import ArgumentParser
import Configuration
import Core
import Glibc
import Logging
import Runtime
import System

/// `--config FILE`, for every command that reads a configuration.
struct ConfigurationOption: ParsableArguments {
    private static let variable = "HAREBELL_CONFIG"
    private static let standardFile = "/etc/harebell/harebell.yaml"

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "The configuration file. Without it, $\(Self.variable), then \(Self.standardFile).", valueName: "file"))
    var given: String?

    /// The path of the file. Ends the command if none is given and the default file does not exist.
    func file() throws -> String {
        if let file = fileIfAny { return file }
        try quit(
            "no configuration file: name one with --config FILE or in $\(Self.variable), or create "
                + "\(Self.standardFile)", Status.configuration)
    }

    /// The path of the file, for a command that does not require one.
    var fileIfAny: String? {
        if let given { return given }
        if let value = unsafe getenv(Self.variable), unsafe value.pointee != 0 { return unsafe String(cString: value) }
        return unsafe access(Self.standardFile, F_OK) == 0 ? Self.standardFile : nil
    }

    func load() throws -> Configuration {
        let document = try ConfigurationDocument.load(path: try file())
        for warning in document.warnings { complain(warning.description) }
        return document.configuration
    }
}

extension Configuration.Log {
    /// - Parameter threshold: replaces ``level``, for loggers whose level can change.
    func logger(_ label: String, threshold: LogThreshold? = nil) -> Logger {
        let (threshold, format) = (threshold ?? LogThreshold(level), format)
        return Logger(label: label) { label in
            LineLogHandler(label: label, threshold: threshold, format: format, clock: { SystemClock.now().wall })
        }
    }
}

/// The value of an option that was given under its former name, with a warning.
func former<Value>(_ value: Value?, _ name: String, now: String) -> Value? {
    if value != nil { complain("\(name) is now \(now); the former name goes with the next release") }
    return value
}
