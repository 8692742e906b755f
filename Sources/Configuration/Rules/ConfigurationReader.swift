import System

/// Reads a configuration file in steps, and collects the problems of all: its settings, the rules between them, and the
/// files that it names.
struct ConfigurationReader: Sendable {
    let file: String
    var environment: @Sendable (String) -> String? = ConfigurationDocument.environment
    var readFile: @Sendable (String) throws -> [UInt8] = ConfigurationFiles.read
    /// Those that are valid.
    var values = SettingValues()
    var problems: [ConfigurationProblem] = []
    /// Whether it reads a default, which has no location in the file.
    var isDefault = false

    mutating func error(_ path: String, _ message: String) {
        report(.error, at: values.location(of: path), "\(path): \(message)")
    }

    mutating func warning(_ path: String, _ message: String) {
        report(.warning, at: values.location(of: path), "\(path): \(message)")
    }

    mutating func report(
        _ severity: ConfigurationProblem.Severity, at location: ConfigurationProblem.Location, _ message: String,
        _ hint: String? = nil
    ) {
        problems.append(
            ConfigurationProblem(severity: severity, file: file, location: location, message: message, hint: hint))
    }

    func sorted(_ severity: ConfigurationProblem.Severity) -> [ConfigurationProblem] {
        problems.filter { $0.severity == severity }.sorted { $0.location < $1.location }
    }

    func throwErrors() throws(ConfigurationError) {
        let errors = sorted(.error)
        guard errors.isEmpty else { throw ConfigurationError(problems: errors, reader: self) }
    }

    var apps: [String] {
        (0..<values.count("apps")).map { "apps[\($0)]" }
    }

    /// The file that a setting names; a relative path starts at the configuration file's folder.
    func path(_ setting: String) -> FilePath? {
        values.text(setting).map { FilePath(WholeFile.path($0, beside: file), shownAs: values.written[setting]) }
    }

    /// The secret in the file that a setting names; `nil` if there is none, or it cannot be read.
    mutating func secret(_ setting: String) -> Secret? {
        guard let path = path(setting) else { return nil }
        do {
            return try ConfigurationFiles.secret(readFile(path.path))
        } catch {
            self.error(setting, "cannot read \(path): \(error)")
            return nil
        }
    }

    /// The token of the admin server, which a header carries. Source: RFC 6750, section 2.1.
    mutating func adminToken() -> Secret? {
        let setting = "admin.token_file"
        guard let token = secret(setting) else { return nil }
        guard token.reveal().utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            error(setting, "expected one line of ASCII characters without spaces")
            return nil
        }
        return token
    }

    /// The complete credentials of an app: one, unless the file has errors.
    mutating func credentials(_ app: String) -> [Configuration.Credential] {
        var credentials: [Configuration.Credential] = []
        if let keyFile = path("\(app).token.key_file") {
            credentials.append(
                .token(
                    keyFile: keyFile, keyID: values.text("\(app).token.key_id") ?? "",
                    teamID: values.text("\(app).token.team_id") ?? ""))
        }
        let section = "\(app).certificate"
        if let p12 = path("\(section).p12_file") {
            credentials.append(.p12(file: p12, password: secret("\(section).password_file")))
        } else if let certificate = path("\(section).certificate_file"), let key = path("\(section).private_key_file") {
            credentials.append(.pem(certificateFile: certificate, privateKeyFile: key))
        }
        return credentials
    }
}
