import ArgumentParser
import Configuration
import Core
import TLS

/// The exit codes of commands. Source: sysexits.h.
enum Status {
    static let refused = ExitCode(65)
    static let unavailable = ExitCode(69)
    static let `internal` = ExitCode(70)
    static let configuration = ExitCode(78)

    /// The code for an error that ends a command. Complaints and TLS errors concern a given file here: errors caused by
    /// a peer end a connection, not a command.
    static func code(of error: any Error) -> ExitCode {
        switch error {
        case is ConfigurationError, is TLSError, is Complaint: configuration
        default: `internal`
        }
    }
}

extension Outcome {
    /// The exit code for a failed request; `nil` for success.
    var status: ExitCode? {
        switch self {
        case .accepted: nil
        case .unregistered, .rejected, .invalid, .expired: Status.refused
        case .undelivered: Status.unavailable
        }
    }
}

/// Ends the command with the reason.
func quit(_ text: String, _ status: ExitCode) throws -> Never {
    complain(text)
    throw status
}

/// Ends the command with usage if `body` fails.
///
/// - Parameter problem: what a failure means, with the option.
func validating<Value>(_ problem: String, _ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError("\(problem): \(error)")
    }
}
