package import YAML

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

    package init(
        severity: Severity, file: String, location: Location, message: String, hint: String? = nil
    ) {
        self.severity = severity
        self.file = file
        self.location = location
        self.message = message
        self.hint = hint
    }

    /// `file:line:column: message; hint`, as compilers print it.
    package var description: String {
        let start = "\(file):\(location.line):\(location.column): \(severity == .warning ? "warning: " : "")"
        return start + message + (hint.map { "; \($0)" } ?? "")
    }
}

extension ConfigurationProblem.Location {
    package init(_ mark: YAMLNode.Mark) {
        self.init(line: mark.line, column: mark.column)
    }
}
