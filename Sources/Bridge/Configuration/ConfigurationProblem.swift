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

    /// `file:line:column: message`, as compilers print it.
    package var description: String {
        "\(file):\(location.line):\(location.column): \(severity == .warning ? "warning: " : "")\(message)"
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

    package init(problems: [ConfigurationProblem]) {
        self.problems = problems
    }

    /// One problem per line.
    package var message: String {
        problems.map(\.description).joined(separator: "\n")
    }

    package var description: String {
        message
    }
}
