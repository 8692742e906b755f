package import Core

/// Why a shared library cannot be used as a decoder: always a local error or the library's own.
package struct LibraryError: ComponentError {
    package typealias Code = ErrorCode<LibraryError>

    package let code: Code
    package let message: String
    package let blame = Blame.local
    package let isTransient = false

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode<LibraryError> {
    /// The file does not exist or cannot be accessed.
    package static var missing: Self { Self(rawValue: "missing") }
    /// Other users may change it.
    package static var exposed: Self { Self(rawValue: "exposed") }
    /// `dlopen` refuses it.
    package static var notLoaded: Self { Self(rawValue: "not-loaded") }
    /// It is not a decoder library, or is built for another interface.
    package static var incompatible: Self { Self(rawValue: "incompatible") }
}
