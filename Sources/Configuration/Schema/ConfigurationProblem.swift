package import TLS

/// An error or a warning in a configuration file, with its location.
package struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: Sendable {
        case error, warning
    }

    /// A location in the file. Lines and columns count from 1; columns are Unicode scalars.
    package struct Location: Sendable, Hashable, Comparable {
        package var line: Int
        package var column: Int

        package static func < (left: Location, right: Location) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    package var severity: Severity
    package var file: String
    package var location: Location
    /// The problem and the expected value, without secrets and values from the environment.
    package var message: String
    /// A suggestion or a remedy.
    package var hint: String?
    /// The expired certificate of an app that it is about: APNs' refusal pauses this app, and no other.
    package var expired: Certificate?

    /// `file:line:column: message; hint`, in the format of compilers.
    package var description: String {
        let start = "\(file):\(location.line):\(location.column): \(severity == .warning ? "warning: " : "")"
        return start + message + (hint.map { "; \($0)" } ?? "")
    }
}
