/// Why a configuration cannot be used: all problems of the file, in line order.
package struct ConfigurationError: Error, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    /// With the readable part of the file; `nil` if it is not valid YAML.
    var reader: ConfigurationReader?

    /// One problem per line.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
