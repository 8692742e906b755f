/// Why a configuration cannot be used: all problems of the file, in line order.
package struct ConfigurationError: Error, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    /// The readable part of the file; `nil` if it is not valid YAML.
    struct Readable: Sendable {
        let file: String
        let values: SettingValues
        let warnings: [ConfigurationProblem]
    }

    var readable: Readable?

    /// One problem per line.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
