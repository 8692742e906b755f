import System

extension Configuration.Admin {
    /// Reads only this section of a file: an error elsewhere does not concern a worker that runs.
    ///
    /// - Returns: `nil` if the admin server is turned off.
    package static func load(path: String) throws(ConfigurationError) -> Configuration.Admin? {
        let text = try ConfigurationDocument.text(path: path)
        let settings = SettingReader(
            root: try root(text, path), file: path, schema: .configuration,
            environment: ConfigurationDocument.environment)
        guard settings.values["admin"] != .off, settings.values["admin.listen"] != .off else { return nil }
        guard let listen = settings.values.text("admin.listen").flatMap(Addresses.listener) else {
            throw ConfigurationDocument.error(
                path, settings.values.location(of: "admin.listen"),
                "admin.listen: expected a numeric address and a port, such as 127.0.0.1:9464")
        }
        var files = ConfigurationReader(file: path, values: settings.values)
        let admin = Configuration.Admin(listen: listen, token: files.secret("admin.token_file"))
        try files.throwErrors()
        return admin
    }

    private static func root(_ text: String, _ path: String) throws(ConfigurationError) -> YAMLNode? {
        do throws(YAMLError) {
            return try YAMLParser.root(of: Array(text.utf8))
        } catch {
            do throws(YAMLError) {
                return try YAMLParser.root(of: Array(section(text).utf8))
            } catch {
                throw ConfigurationDocument.error(path, error.location, "not YAML: \(error.message)")
            }
        }
    }

    /// The lines of the section. The rest of the file may not be valid YAML.
    private static func section(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("admin:") }) else { return "" }
        let rest = lines[(start + 1)...].prefix { !($0.first?.isLetter ?? false) }
        return ([lines[start]] + rest).joined(separator: "\n")
    }
}
