package import Core

/// Why a shared library gives no decoder: always this machine's or the library's own fault.
package struct LibraryError: ComponentError {
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// There is no such file, or it cannot be looked at.
        package static let missing = Code(rawValue: "missing")
        /// Others may change it.
        package static let exposed = Code(rawValue: "exposed")
        /// `dlopen` does not take it.
        package static let notLoaded = Code(rawValue: "not-loaded")
        /// It is no library of decoders, or one for another interface.
        package static let incompatible = Code(rawValue: "incompatible")
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)? = nil
    package let blame = Blame.local
    package let isTransient = false

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
