package import Core

/// One thing that is wrong, or doubtful, in a configuration file, and where.
package struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: Sendable {
        case error, warning
    }

    /// A place in the file; lines and columns count from 1, columns in Unicode scalars.
    package struct Location: Sendable, Hashable, Comparable {
        package var line: Int
        package var column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package static func < (left: Location, right: Location) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    package var severity: Severity
    package var file: String
    package var location: Location
    /// What is wrong and what would be right; no secret, and no value that came from the environment.
    package var message: String
    /// What may have been meant, or what to do.
    package var hint: String?

    /// `file:line:column: message; hint`, as compilers print it.
    package var description: String {
        let start = "\(file):\(location.line):\(location.column): \(severity == .warning ? "warning: " : "")"
        return start + message + (hint.map { "; \($0)" } ?? "")
    }
}

/// Why a configuration cannot be used: every problem of the file, in the order of its lines.
package struct ConfigurationError: ComponentError {
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let invalid = Code(rawValue: "invalid-configuration")
    }

    package let code = Code.invalid
    package let problems: [ConfigurationProblem]
    package let underlying: (any Error)? = nil
    package let blame = Blame.local
    package let isTransient = false

    /// What of the file could be read all the same; `nil` if it is not even YAML.
    struct Readable: Sendable {
        let file: String
        let values: SettingValues
        let registry: DecoderRegistry
        let warnings: [ConfigurationProblem]
    }

    let readable: Readable?

    package init(problems: [ConfigurationProblem]) {
        self.init(problems: problems, readable: nil)
    }

    init(problems: [ConfigurationProblem], readable: Readable?) {
        self.problems = problems
        self.readable = readable
    }

    /// One problem per line.
    package var message: String {
        problems.map(\.description).joined(separator: "\n")
    }

    package var description: String {
        message
    }
}
