import Glibc

/// A parsed configuration file: its values, warnings and source locations.
package struct ConfigurationDocument: Sendable {
    package let configuration: Configuration
    let reader: ConfigurationReader

    package var values: SettingValues { reader.values }

    /// Contradictory or risky settings, in line order.
    package var warnings: [ConfigurationProblem] { reader.sorted(.warning) }

    /// Reads a file and its secrets, with this process's environment.
    ///
    /// - Throws: all problems of the file together.
    package static func load(
        path: String
    ) throws(ConfigurationError) -> ConfigurationDocument {
        try ConfigurationDocument(
            content: try content(path: path), file: path, environment: environment, readFile: ConfigurationFiles.read)
    }

    static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static func content(path: String) throws(ConfigurationError) -> [UInt8] {
        do {
            return try ConfigurationFiles.read(path)
        } catch {
            throw Self.error(path, .init(line: 1, column: 1), "cannot read the file: \(error)")
        }
    }

    /// - Parameters:
    ///   - file: the name for messages; relative paths start at its folder.
    ///   - environment: the value of a variable, `nil` if it is not set.
    ///   - readFile: reads the files of `*_file` secrets.
    package init(
        content: [UInt8], file: String,
        environment: @escaping @Sendable (String) -> String?,
        readFile: @escaping @Sendable (String) throws -> [UInt8]
    ) throws(ConfigurationError) {
        let root: YAMLNode?
        do throws(YAMLError) {
            root = try YAMLParser.root(of: content)
        } catch {
            let text = String(decoding: content, as: UTF8.self)
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            let index = error.location.line - 1
            let line = lines.indices.contains(index) ? lines[index] : ""
            let isBare = error.message.contains("flow") && line.contains("${") && !line.contains { "\"'".contains($0) }
            let quote = isBare ? "; quote a value with ${…} within braces" : ""
            let hint = line.contains("\t") ? "; the line has a tab: indent with spaces" : quote
            throw Self.error(file, error.location, "not YAML: \(error.message)\(hint)")
        }
        var reader = ConfigurationReader(file: file, environment: environment, readFile: readFile)
        reader.readSettings(root)
        reader.applyRules()
        try reader.throwErrors()
        configuration = reader.build()
        try reader.throwErrors()
        self.reader = reader
    }

    static func error(
        _ file: String, _ location: ConfigurationProblem.Location, _ message: String
    ) -> ConfigurationError {
        ConfigurationError(problems: [
            ConfigurationProblem(severity: .error, file: file, location: location, message: message)
        ])
    }
}
