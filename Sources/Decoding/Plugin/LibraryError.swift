package import Core

/// Why a shared library gives no decoder: always this machine's or the library's own fault.
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
    /// There is no such file, or it cannot be looked at.
    package static var missing: Self { Self(rawValue: "missing") }
    /// Others may change it.
    package static var exposed: Self { Self(rawValue: "exposed") }
    /// `dlopen` does not take it.
    package static var notLoaded: Self { Self(rawValue: "not-loaded") }
    /// It is no library of decoders, or one for another interface.
    package static var incompatible: Self { Self(rawValue: "incompatible") }
}
