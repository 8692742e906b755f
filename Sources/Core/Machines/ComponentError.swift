/// The codes of one error type: an open set. Codes that the program handles have constants.
package struct ErrorCode<Failure>: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The common protocol of errors that code tells apart.
///
/// Messages never contain a device token, a payload or a secret.
package protocol ComponentError: Error, CustomStringConvertible {
    associatedtype Code: RawRepresentable, Hashable, Sendable where Code.RawValue == String

    /// The failure, named or numbered as in the RFC, the library or the vendor's documentation.
    var code: Code { get }

    /// A sentence for operators, with a remedy if one is known.
    var message: String { get }

    /// The error that caused this one; `nil` by default.
    var underlying: (any Error)? { get }

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

/// An error type without further properties. `Component` only distinguishes the types.
package struct ComponentFailure<Component>: ComponentError {
    package typealias Code = ErrorCode<ComponentFailure>

    package let code: Code
    package let message: String
    package let underlying: (any Error)?
    package let isTransient: Bool

    package init(_ code: Code, _ message: String, underlying: (any Error)? = nil, isTransient: Bool = true) {
        self.code = code
        self.message = message
        self.underlying = underlying
        self.isTransient = isTransient
    }
}
