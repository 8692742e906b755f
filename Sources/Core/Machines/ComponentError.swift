/// Who is to blame for an error.
package enum Blame: Sendable {
    /// This process or its configuration.
    case local
    /// The peer, or the way to it.
    case remote
}

/// The codes of one error type: an open set, of which those have a constant that the program tells apart.
package struct ErrorCode<Failure>: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The one shape of every error type: each target has one of its own.
///
/// No message contains a device token, a payload or a secret.
package protocol ComponentError: Error, CustomStringConvertible {
    associatedtype Code: RawRepresentable, Hashable, Sendable where Code.RawValue == String

    /// What failed, by the name that upstream (the RFC, the library, the vendor) gives it.
    var code: Code { get }

    /// A sentence for a person, with what to do where that is known.
    var message: String { get }

    /// The error that caused this one; `nil` unless a type says otherwise.
    var underlying: (any Error)? { get }

    var blame: Blame { get }

    /// Whether the same attempt may succeed later without anyone changing anything.
    var isTransient: Bool { get }
}

extension ComponentError {
    package var underlying: (any Error)? { nil }

    package var description: String {
        if let underlying { "\(message) (\(code.rawValue)): \(underlying)" } else { "\(message) (\(code.rawValue))" }
    }
}
