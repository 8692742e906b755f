/// The side that caused an error.
package enum Blame: Sendable {
    /// This process or its configuration.
    case local
    /// The peer, or the network path to it.
    case remote
}

/// The codes of one error type: an open set. Codes that the program handles have constants.
package struct ErrorCode<Failure>: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The common protocol of all error types; each target defines its own type.
///
/// Messages never contain a device token, a payload or a secret.
package protocol ComponentError: Error, CustomStringConvertible {
    associatedtype Code: RawRepresentable, Hashable, Sendable where Code.RawValue == String

    /// The failure, named as in the RFC, the library or the vendor's documentation.
    var code: Code { get }

    /// A sentence for operators, with a remedy if one is known.
    var message: String { get }

    /// The error that caused this one; `nil` by default.
    var underlying: (any Error)? { get }

    var blame: Blame { get }

    /// Whether the same attempt may succeed later without any change.
    var isTransient: Bool { get }
}

extension ComponentError {
    package var underlying: (any Error)? { nil }

    /// The message of the innermost error, which names what failed and where.
    package var cause: String {
        (underlying as? any ComponentError)?.cause ?? message
    }

    package var description: String {
        if let underlying { "\(message) (\(code.rawValue)): \(underlying)" } else { "\(message) (\(code.rawValue))" }
    }
}
