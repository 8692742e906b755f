package import Core
import TLS

extension ConfigurationDocument {
    /// Looks into the keys and certificates that the file names.
    ///
    /// - Parameter now: what certificates must be valid at.
    /// - Returns: what was doubtful in the file itself, and every error and warning about the files, in the order of the
    ///   configuration's lines.
    package func check(now: WallTime) -> [ConfigurationProblem] {
        var check = ConfigurationCheck(document: self, now: now)
        check.checkBroker()
        for (index, app) in configuration.apps.enumerated() { check.check(app, at: "apps[\(index)]") }
        return (warnings + check.problems).sorted { $0.location < $1.location }
    }
}

private struct ConfigurationCheck {
    /// Less than so many days before a certificate expires there is a warning.
    static let expiryWarningDays: Int64 = 30
    private static let millisecondsPerDay: Int64 = 86_400_000

    let document: ConfigurationDocument
    let now: WallTime
    private(set) var problems: [ConfigurationProblem] = []

    init(document: ConfigurationDocument, now: WallTime) {
        self.document = document
        self.now = now
    }

    mutating func checkBroker() {
        let tls = document.configuration.broker.tls
        if let file = tls.caFile { checkAuthorities(file, at: "broker.tls.ca_file") }
        if let certificate = tls.certificateFile, let key = tls.privateKeyFile {
            _ = checkPair(certificate, key, at: "broker.tls")
        }
    }

    mutating func check(_ app: Configuration.App, at path: String) {
        if let file = app.caFile { checkAuthorities(file, at: "\(path).ca_file") }
        switch app.credential {
        case .token(let keyFile, _, _):
            attempt("\(path).token.key_file") { () throws(TLSError) in _ = try SigningKey(file: keyFile) }
        case .certificate(.pem(let certificateFile, let privateKeyFile)):
            if let certificate = checkPair(certificateFile, privateKeyFile, at: "\(path).certificate") {
                checkTopic(of: certificate, app, at: "\(path).certificate.certificate_file")
            }
        case .certificate(.p12(let file, let password)):
            let place = "\(path).certificate.p12_file"
            let identity = TLSContext.Identity.pkcs12(file: file, password: password?.reveal() ?? "")
            let certificate = attempt(place) { () throws(TLSError) in try identity.certificate() }
            guard let certificate else { return }
            checkValidity(of: certificate, at: place)
            checkTopic(of: certificate, app, at: place)
        }
    }

    /// - Returns: the certificate, unless something is wrong with it.
    private mutating func checkPair(_ certificateFile: String, _ keyFile: String, at path: String) -> Certificate? {
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
        if certificate.notAfter < now {
            report(.error, path, "the certificate expired on \(certificate.notAfter.inUTC)")
        } else if now < certificate.notBefore {
            report(.error, path, "the certificate is not valid before \(certificate.notBefore.inUTC)")
        } else {
            let days = (certificate.notAfter.milliseconds - now.milliseconds) / Self.millisecondsPerDay
            guard days < Self.expiryWarningDays else { return }
            report(.warning, path, "the certificate expires in \(days) days, on \(certificate.notAfter.inUTC)")
        }
    }

    /// Apple writes the bundle ID as the subject's user ID, and the service into its common name.
    ///
    /// Source: "Establishing a certificate-based connection to APNs".
    private mutating func checkTopic(of certificate: Certificate, _ app: Configuration.App, at path: String) {
        if let topic = certificate.subjectUID, app.topic != topic, !app.topic.hasPrefix(topic + ".") {
            report(.warning, path, "the certificate is for \"\(topic)\", the app's topic is \"\(app.topic)\"")
        }
        if let name = certificate.subjectCommonName, name.hasPrefix("Apple Development "),
            app.environment == .production
        {
            report(.warning, path, "the certificate is for the development environment: \"\(name)\"")
        }
    }

    private mutating func checkAuthorities(_ file: String, at path: String) {
        attempt(path) { () throws(TLSError) in _ = try TLSContext(role: .client, trust: .file(file)) }
    }

    @discardableResult
    private mutating func attempt<Value>(_ path: String, _ body: () throws(TLSError) -> Value) -> Value? {
        do {
            return try body()
        } catch {
            report(.error, path, error.message)
            return nil
        }
    }

    private mutating func report(_ severity: ConfigurationProblem.Severity, _ path: String, _ message: String) {
        problems.append(
            ConfigurationProblem(
                severity: severity, file: document.file, location: document.values.location(of: path),
                message: "\(path): \(message)"))
    }
}
