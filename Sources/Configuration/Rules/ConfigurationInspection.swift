package import Core
import Decoding
package import System
package import TLS

/// A configuration file, and the state of the keys, certificates and other files that it names.
package struct ConfigurationInspection: Sendable {
    package struct App: Sendable {
        package enum Credential: Sendable {
            /// The identifiers as shown in messages.
            case token(keyFile: FilePath, keyID: String, teamID: String, isReadable: Bool)
            /// `nil` if it cannot be read.
            case certificate(Certificate?)
        }

        /// The app's topic and environment as shown in messages.
        package let topic: String
        package let environment: String
        package let credential: Credential
    }

    /// `nil` if the file has errors.
    package let document: ConfigurationDocument?
    /// All errors and warnings, in line order.
    package let problems: [ConfigurationProblem]
    package let apps: [App]

    /// The errors that prevent a reload. That a certificate in use has expired does not: its app is paused either
    /// way.
    ///
    /// - Parameter certificates: those in use.
    package func reloadErrors(using certificates: [Certificate]) -> [ConfigurationProblem] {
        problems.filter { problem in
            problem.severity == .error && !certificates.contains { $0 == problem.expired }
        }
    }

    /// The configuration for a start, which an expired certificate does not prevent while there are other apps.
    package var startable: Configuration? {
        let errors = problems.filter { $0.severity == .error }
        let isServing = errors.count < max(1, apps.count) && errors.allSatisfy { $0.expired != nil }
        return isServing ? document?.configuration : nil
    }
}

extension ConfigurationInspection {
    /// Reads a configuration file and everything that it names. If the file has errors, the rest is inspected as far as
    /// it can be read, so that operators can fix all problems at once.
    ///
    /// - Parameter now: the time for checking validity.
    package init(path: String, now: WallTime) {
        do throws(ConfigurationError) {
            self = try ConfigurationDocument.load(path: path).inspect(now: now)
        } catch {
            self = error.inspect(now: now)
        }
    }
}

extension ConfigurationDocument {
    package func inspect(now: WallTime) -> ConfigurationInspection {
        reader.inspect(self, at: now)
    }
}

extension ConfigurationError {
    func inspect(now: WallTime) -> ConfigurationInspection {
        reader?.inspect(nil, at: now) ?? ConfigurationInspection(document: nil, problems: problems, apps: [])
    }
}

extension ConfigurationReader {
    /// - Parameter document: `nil` if the file has errors.
    fileprivate func inspect(_ document: ConfigurationDocument?, at now: WallTime) -> ConfigurationInspection {
        let known = sorted(.error) + sorted(.warning)
        var check = self
        check.problems = []
        let apps = check.checkFiles(at: now)
        let problems = known + check.problems.filter { !known.contains($0) }
        return ConfigurationInspection(
            document: document, problems: problems.sorted { $0.location < $1.location },
            apps: document == nil ? [] : apps)
    }

    fileprivate mutating func checkFiles(at now: WallTime) -> [ConfigurationInspection.App] {
        checkBrokerFiles(at: now)
        checkExposure()
        checkPrograms()
        _ = adminToken()
        var found: [ConfigurationInspection.App] = []
        for app in apps {
            if let file = path("\(app).ca_file") { checkAuthorities(file, at: "\(app).ca_file") }
            for credential in credentials(app) {
                found.append(
                    ConfigurationInspection.App(
                        topic: values.shown("\(app).topic"), environment: values.shown("\(app).environment"),
                        credential: check(credential, of: app, at: now)))
            }
        }
        return found
    }

    private mutating func checkBrokerFiles(at now: WallTime) {
        if let file = path("broker.tls.ca_file") { checkAuthorities(file, at: "broker.tls.ca_file") }
        if let certificate = path("broker.tls.certificate_file"), let key = path("broker.tls.private_key_file") {
            _ = checkPair(certificate, key, in: "broker.tls", at: now)
        }
        checkAccessToken(at: now)
    }

    /// Checks whether the broker's password is an access token that has expired, or expires before a worker is likely
    /// to have started.
    private mutating func checkAccessToken(at now: WallTime) {
        let setting = "broker.password_file"
        guard let expires = secret(setting).flatMap(AccessToken.init)?.expires else { return }
        let seconds = (expires.milliseconds - now.milliseconds) / 1000
        guard seconds < Self.shortTokenTime else { return }
        let end = "\(expires <= now ? "expired" : "expires in \(seconds) s,") on \(expires.inUTC)"
        warning(
            setting, "the access token \(end): write a new token to \(values.shown(setting)), and keep it renewed")
    }

    /// In seconds.
    private static let shortTokenTime = 300

    private mutating func checkExposure() {
        let files = apps.flatMap { app in
            ["token.key_file", "certificate.private_key_file", "certificate.p12_file", "certificate.password_file"]
                .map { "\(app).\($0)" }
        }
        for path in ["broker.password_file", "broker.tls.private_key_file", "admin.token_file"] + files {
            guard let exposure = self.path(path).flatMap({ FileExposure(ofFile: $0.path) }) else { continue }
            warning(path, "\(exposure.rawValue) \(values.shown(path))")
        }
    }

    private mutating func checkPrograms() {
        for entry in decoderEntries() {
            guard case .process(let options) = entry.definition.options else { continue }
            let place = "\(entry.section).command[0]"
            guard let path = Executable.path(of: options.program.command[0]) else {
                error(place, "not an executable program: \(options.program.name)")
                continue
            }
            do throws(Complaint) {
                _ = try TrustedFile.resolve(FilePath(path, shownAs: values.written[place]))
            } catch {
                self.error(place, error.message)
            }
        }
    }

    /// - Parameter path: of the app, whose other settings may be missing or invalid.
    private mutating func check(
        _ credential: Configuration.Credential, of path: String, at now: WallTime
    ) -> ConfigurationInspection.App.Credential {
        switch credential {
        case .token(let keyFile, _, _):
            let key = attempt("\(path).token.key_file") { () throws(TLSError) in try SigningKey(file: keyFile) }
            return .token(
                keyFile: keyFile, keyID: values.shown("\(path).token.key_id"),
                teamID: values.shown("\(path).token.team_id"), isReadable: key != nil)
        case .pem(let certificateFile, let privateKeyFile):
            let certificate = checkPair(
                certificateFile, privateKeyFile, in: "\(path).certificate", at: now)
            if let certificate { check(certificate, of: path, at: "\(path).certificate.certificate_file") }
            return .certificate(certificate)
        case .p12(let file, let password):
            // A password that cannot be read was reported; the file itself may be missing or damaged as well.
            let lacksPassword = password == nil && values.text("\(path).certificate.password_file") != nil
            let place = "\(path).certificate.p12_file"
            let identity = TLSContext.Identity.pkcs12(file: file, password: password?.reveal() ?? "")
            let certificate = attempt(place, unless: lacksPassword ? .wrongPassword : nil) { () throws(TLSError) in
                try identity.certificate()
            }
            guard let certificate else { return .certificate(nil) }
            checkValidity(of: certificate, in: place, at: now)
            attempt(place) { () throws(TLSError) in
                _ = try TLSContext(role: .client, trust: .none, identity: identity)
            }
            check(certificate, of: path, at: place)
            return .certificate(certificate)
        }
    }

    private mutating func checkPair(
        _ certificateFile: FilePath, _ keyFile: FilePath, in path: String, at now: WallTime
    ) -> Certificate? {
        let certificatePath = "\(path).certificate_file"
        let certificate = attempt(certificatePath) { () throws(TLSError) in try Certificate(file: certificateFile) }
        guard let certificate else {
            attempt("\(path).private_key_file") { () throws(TLSError) in try TLSContext.Identity.checkKey(keyFile) }
            return nil
        }
        checkValidity(of: certificate, in: certificatePath, at: now)
        attempt("\(path).private_key_file") { () throws(TLSError) in
            _ = try TLSContext(
                role: .client, trust: .none,
                identity: .pem(certificateFile: certificateFile, privateKeyFile: keyFile))
        }
        return certificate
    }

    private mutating func checkValidity(of certificate: Certificate, in path: String, at now: WallTime) {
        let end = certificate.notAfter.inUTC
        let days = certificate.secondsLeft(at: now) / 86_400
        if certificate.notAfter < now {
            error(path, "the certificate expired on \(end)")
            if path.hasPrefix("apps[") { problems[problems.count - 1].expired = certificate }
        } else if now < certificate.notBefore {
            error(path, "the certificate is not valid before \(certificate.notBefore.inUTC)")
        } else if days < 1 {
            warning(path, "the certificate expires within a day, on \(end)")
        } else if days < 30 {
            warning(path, "the certificate expires in \(days) day\(days == 1 ? "" : "s"), on \(end)")
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

    /// - Parameter known: the error that is not reported.
    @discardableResult
    private mutating func attempt<Value>(
        _ path: String, unless known: TLSError.Code? = nil, _ body: () throws(TLSError) -> Value
    ) -> Value? {
        do {
            return try body()
        } catch {
            if error.code != known { self.error(path, error.message) }
            return nil
        }
    }
}
