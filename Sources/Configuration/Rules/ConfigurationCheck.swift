package import Core
import Decoding
package import System
package import TLS

/// The inspection of a configuration's keys and certificates.
package struct CredentialInspection: Sendable {
    package struct App: Sendable {
        package enum Credential: Sendable {
            /// The identifiers as shown in messages.
            case token(keyFile: FilePath, keyID: String, teamID: String, isReadable: Bool)
            /// `nil` if it cannot be read.
            case certificate(Certificate?)
        }

        package let app: Configuration.App
        /// The app's topic and environment as shown in messages.
        package let topic: String
        package let environment: String
        package let credential: Credential
    }

    /// The warnings of the configuration, and all errors and warnings about the referenced files, in line order.
    package let problems: [ConfigurationProblem]
    package let apps: [App]

    /// The apps' certificates.
    package var certificates: [CertificateWatch.Entry] {
        apps.compactMap { found in
            guard case .certificate(let certificate?) = found.credential else { return nil }
            return CertificateWatch.Entry(
                topic: found.app.topic, environment: found.app.environment, certificate)
        }
    }
}

extension ConfigurationDocument {
    /// Inspects the configured keys and certificates.
    ///
    /// - Parameter now: the time for checking validity.
    package func inspect(now: WallTime) -> CredentialInspection {
        var check = ConfigurationCheck(file, values, at: now)
        let apps = configuration.apps.enumerated().map { index, app in
            CredentialInspection.App(
                app: app, topic: values.shown("apps[\(index)].topic"),
                environment: values.shown("apps[\(index)].environment"),
                credential: check.check("apps[\(index)]", app.credential))
        }
        return CredentialInspection(
            problems: (warnings + check.reader.problems).sorted { $0.location < $1.location }, apps: apps)
    }
}

extension ConfigurationError {
    /// Adds the warnings of the file, and the problems of the referenced keys, certificates and secrets as far as they
    /// can be read. Operators can then fix all problems at once.
    package func inspectingFiles(now: WallTime) -> ConfigurationError {
        guard let readable else { return self }
        var check = ConfigurationCheck(readable.file, readable.values, at: now)
        // The secret outside of apps and the broker's settings.
        _ = check.reader.secret("admin.token_file")
        for app in check.reader.apps { _ = check.check(app, check.reader.credential(app)) }
        let more = (readable.warnings + check.reader.problems).filter { !problems.contains($0) }
        return ConfigurationError(problems: (problems + more).sorted { $0.location < $1.location })
    }
}

private struct ConfigurationCheck {
    var reader: ConfigurationReader
    private let now: WallTime

    /// Checks everything except the apps.
    init(_ file: String, _ values: SettingValues, at now: WallTime) {
        reader = ConfigurationReader(file: file, values: values)
        self.now = now
        checkBroker()
        checkExposure()
        checkPrograms()
    }

    private var file: String { reader.file }
    private var values: SettingValues { reader.values }

    private func path(_ setting: String) -> FilePath? { reader.path(setting) }

    private mutating func error(_ path: String, _ message: String) { reader.error(path, message) }

    private mutating func warning(_ path: String, _ message: String) { reader.warning(path, message) }

    private mutating func checkBroker() {
        if let file = path("broker.tls.ca_file") { checkAuthorities(file, at: "broker.tls.ca_file") }
        if let certificate = path("broker.tls.certificate_file"), let key = path("broker.tls.private_key_file") {
            _ = checkPair(certificate, key, at: "broker.tls")
        }
        checkAccessToken()
    }

    /// Checks whether the broker's password is an access token that has expired, or expires before a worker is likely
    /// to have started.
    private mutating func checkAccessToken() {
        let setting = "broker.password_file"
        guard let expires = reader.secret(setting).flatMap(AccessToken.init)?.expires else { return }
        let seconds = (expires.milliseconds - now.milliseconds) / 1000
        let advice = "write a new token to \(values.shown(setting))"
        if expires <= now {
            warning(setting, "the access token expired on \(expires.inUTC): \(advice)")
        } else if seconds < Self.shortTokenTime {
            warning(
                setting,
                "the access token expires in \(seconds) s, on \(expires.inUTC): \(advice), and keep it renewed")
        }
    }

    /// In seconds.
    private static let shortTokenTime = 300

    /// Checks whether other users of this machine can read a secret.
    private mutating func checkExposure() {
        let files = reader.apps.flatMap { app in
            ["token.key_file", "certificate.private_key_file", "certificate.p12_file", "certificate.password_file"]
                .map { "\(app).\($0)" }
        }
        for path in ["broker.password_file", "broker.tls.private_key_file", "admin.token_file"] + files {
            guard let exposure = self.path(path).flatMap({ FileExposure(ofFile: $0.path) }) else { continue }
            let file = values.shown(path)
            switch exposure {
            case .readable: warning(path, "every user of this machine can read the file: chmod o= \(file)")
            case .writable:
                warning(path, "users other than its owner can change the file: chmod go-w,o= \(file)")
            }
        }
        checkInlinePasswords()
    }

    /// Checks whether other users of this machine can read or change a password in the configuration file itself.
    private mutating func checkInlinePasswords() {
        guard let exposure = FileExposure(ofFile: file) else { return }
        let endpoints = values.elements("broker.endpoints").indices.map { "broker.endpoints[\($0)]" }
        let places = (values.isGiven("broker.endpoints") ? endpoints : []) + ["apns.proxy"]
        for place in places where Self.holdsPassword(values.shown(place)) {
            switch exposure {
            case .readable:
                warning(place, "every user of this machine can read the password in this file: chmod o= \(file)")
            case .writable:
                warning(
                    place,
                    "users other than its owner can change this file, which contains a password: chmod go-w,o= \(file)")
            }
        }
    }

    /// Whether an address in the file contains a password other than the well-known default.
    private static func holdsPassword(_ address: String) -> Bool {
        guard let scheme = address.firstRange(of: "://") else { return false }
        let authority = address[scheme.upperBound...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return false }
        let credentials = authority[..<at]
        guard let colon = credentials.firstIndex(of: ":") else { return false }
        let password = String(credentials[credentials.index(after: colon)...])
        return !password.isEmpty && credentials != "guest:guest" && !Substitution.isNeeded(in: password)
    }

    /// Checks that the programs of decoders can be run.
    private mutating func checkPrograms() {
        for entry in DecoderReader(values, of: file).entries {
            guard case .process(let options) = entry.definition.options else { continue }
            let place = "\(entry.section).command[0]"
            guard let path = Executable.path(of: options.program.command[0]) else {
                error(place, "not an executable program: \(options.program.name)")
                continue
            }
            do throws(LibraryError) {
                _ = try TrustedFile.resolve(FilePath(path, shownAs: values.written(place)))
            } catch {
                self.error(place, error.message)
            }
        }
    }

    /// Checks the files of an app, whose other settings may be missing or invalid.
    mutating func check(
        _ app: String, _ credential: Configuration.Credential?
    ) -> CredentialInspection.App.Credential {
        if let file = path("\(app).ca_file") { checkAuthorities(file, at: "\(app).ca_file") }
        return credential.map { check($0, of: app) } ?? .certificate(nil)
    }

    /// - Parameter path: of the app.
    private mutating func check(
        _ credential: Configuration.Credential, of path: String
    ) -> CredentialInspection.App.Credential {
        switch credential {
        case .token(let keyFile, _, _):
            let key = attempt("\(path).token.key_file") { () throws(TLSError) in try SigningKey(file: keyFile) }
            return .token(
                keyFile: keyFile, keyID: values.shown("\(path).token.key_id"),
                teamID: values.shown("\(path).token.team_id"), isReadable: key != nil)
        case .certificate(.pem(let certificateFile, let privateKeyFile)):
            let certificate = checkPair(certificateFile, privateKeyFile, at: "\(path).certificate")
            if let certificate { check(certificate, of: path, at: "\(path).certificate.certificate_file") }
            return .certificate(certificate)
        case .certificate(.p12(let file, let password)):
            // A file whose password cannot be read cannot be checked.
            if password == nil, values.text("\(path).certificate.password_file") != nil { return .certificate(nil) }
            let place = "\(path).certificate.p12_file"
            let identity = TLSContext.Identity.pkcs12(file: file, password: password?.reveal() ?? "")
            let certificate = attempt(place) { () throws(TLSError) in try identity.certificate() }
            guard let certificate else { return .certificate(nil) }
            checkValidity(of: certificate, at: place)
            attempt(place) { () throws(TLSError) in
                _ = try TLSContext(role: .client, trust: .none, identity: identity)
            }
            check(certificate, of: path, at: place)
            return .certificate(certificate)
        }
    }

    /// - Returns: the certificate, if it can be read.
    private mutating func checkPair(_ certificateFile: FilePath, _ keyFile: FilePath, at path: String) -> Certificate? {
        let certificatePath = "\(path).certificate_file"
        let certificate = attempt(certificatePath) { () throws(TLSError) in try Certificate(file: certificateFile) }
        guard let certificate else { return nil }
        checkValidity(of: certificate, at: certificatePath)
        attempt("\(path).private_key_file") { () throws(TLSError) in
            _ = try TLSContext(
                role: .client, trust: .none,
                identity: .pem(certificateFile: certificateFile, privateKeyFile: keyFile))
        }
        return certificate
    }

    private mutating func checkValidity(of certificate: Certificate, at path: String) {
        let end = certificate.notAfter.inUTC
        switch CertificateExpiry(from: certificate.notBefore, until: certificate.notAfter, at: now) {
        case .far: break
        case .near(let days), .soon(let days):
            warning(path, "the certificate expires in \(days) day\(days == 1 ? "" : "s"), on \(end)")
        case .today: warning(path, "the certificate expires within a day, on \(end)")
        case .over: error(path, "the certificate expired on \(end)")
        case .early: error(path, "the certificate is not valid before \(certificate.notBefore.inUTC)")
        }
    }

    /// Checks whether APNs would accept the app's notifications with this certificate.
    private mutating func check(_ certificate: Certificate, of app: String, at path: String) {
        for damage in certificate.extensions.damage { warning(path, damage) }
        if let topic = values.text("\(app).topic"), !certificate.names(bundleID: topic) {
            let names = certificate.pushTopics.map { "\"\($0.name)\"" }.joined(separator: ", ")
            error(
                path,
                names.isEmpty
                    ? "the certificate names no topic: it is not a push certificate from Apple"
                    : "the certificate is for \(names), the app's topic is \"\(values.shown("\(app).topic"))\"")
        }
        guard let environment = values.text("\(app).environment").flatMap(Environment.init(rawValue:)) else { return }
        if !certificate.isFor(environment) {
            let others = Environment.allCases.filter(certificate.isFor).map(\.rawValue).joined(separator: ", ")
            error(
                path,
                "the certificate is for the \(others) environment, the app for \(values.shown("\(app).environment"))")
        } else if certificate.extensions.environments.isEmpty, environment == .production,
            let name = certificate.subjectCommonName, name.hasPrefix("Apple Development ")
        {
            warning(path, "the certificate looks like one for the development environment: \"\(name)\"")
        }
    }

    private mutating func checkAuthorities(_ file: FilePath, at path: String) {
        attempt(path) { () throws(TLSError) in _ = try TLSContext(role: .client, trust: .file(file)) }
    }

    @discardableResult
    private mutating func attempt<Value>(_ path: String, _ body: () throws(TLSError) -> Value) -> Value? {
        do {
            return try body()
        } catch {
            self.error(path, error.message)
            return nil
        }
    }
}
