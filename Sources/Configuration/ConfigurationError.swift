package import Core
import Decoding

/// Why a configuration cannot be used: all problems of the file, in line order.
package struct ConfigurationError: ComponentError {
    package typealias Code = ErrorCode<ConfigurationError>

    package let code = Code.invalid
    package let problems: [ConfigurationProblem]
    package let isTransient = false

    /// The readable part of the file; `nil` if it is not valid YAML.
    struct Readable: Sendable {
        let file: String
        let values: SettingValues
        let warnings: [ConfigurationProblem]
    }

    var readable: Readable?

    /// One problem per line.
    package var message: String {
        problems.map(\.description).joined(separator: "\n")
    }

    package var description: String {
        message
    }
}

extension ErrorCode<ConfigurationError> {
    package static var invalid: Self { Self(rawValue: "invalid-configuration") }
}
