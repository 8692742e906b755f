import System

/// Reads the settings of a file, and collects the problems that the schema cannot express.
struct ConfigurationReader {
    let file: String
    let values: SettingValues
    var readFile: (String) throws -> [UInt8] = ConfigurationFiles.read
    var problems: [ConfigurationProblem] = []

    mutating func error(_ path: String, _ message: String) {
        report(.error, path, "\(path): \(message)")
    }

    mutating func warning(_ path: String, _ message: String) {
        report(.warning, path, "\(path): \(message)")
    }

    mutating func report(_ severity: ConfigurationProblem.Severity, _ path: String, _ message: String) {
        problems.append(
            ConfigurationProblem(
                severity: severity, file: file, location: values.location(of: path), message: message))
    }

    var warnings: [ConfigurationProblem] { sorted(.warning) }

    private func sorted(_ severity: ConfigurationProblem.Severity) -> [ConfigurationProblem] {
        problems.filter { $0.severity == severity }.sorted { $0.location < $1.location }
    }

    func throwErrors() throws(ConfigurationError) {
        let errors = sorted(.error)
        guard !errors.isEmpty else { return }
        let readable = ConfigurationError.Readable(file: file, values: values, warnings: warnings)
        throw ConfigurationError(problems: errors, readable: readable)
    }

    var apps: [String] {
        (0..<values.count("apps")).map { "apps[\($0)]" }
    }

    func path(_ setting: String) -> FilePath? {
        values.file(setting, beside: file)
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
