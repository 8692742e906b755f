import Core
import Glibc
import TLS
import TestSupport
import Testing

@testable import Configuration

@Suite("Keys and certificates")
struct CredentialInspectionTests {
    private static let now = WallTime(milliseconds: 1_795_300_000_000)
    private let authority = CertificateAuthority(commonName: "Test Authority", now: now)

    /// The findings of the deep checks for an app with these files beside its configuration.
    private func inspect(
        _ credential: String, extra: String = "", environment: String = "production",
        files: [String: String] = [:]
    ) throws -> (problems: [String], app: ConfigurationInspection.App, whole: ConfigurationInspection) {
        let folder = try TemporaryDirectory()
        for (name, content) in files { try folder.write(content, to: name) }
        let file = try folder.write(
            """
            apps:
              - topic: com.example.app
                environment: \(environment)
                \(credential)

            """ + extra, to: "harebell.yaml")
        let inspection = try ConfigurationDocument.load(path: file).inspect(now: Self.now)
        let problems = inspection.problems.map { $0.description.replacing(folder.path + "/", with: "") }
        return (problems, try #require(inspection.apps.first), inspection)
    }

    /// The messages of the findings for a PEM certificate.
    private func check(
        _ issued: (certificatePEM: String, privateKeyPEM: String), environment: String = "production"
    ) throws -> [String] {
        try inspect(
            Self.certificate, environment: environment,
            files: ["a.pem": issued.certificatePEM, "a.key": issued.privateKeyPEM]
        ).problems
    }

    private static let place = "harebell.yaml:4:38: apps[0].certificate.certificate_file:"
    private static let warningPlace = "harebell.yaml:4:38: warning: apps[0].certificate.certificate_file:"

    private static let token = "token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }"
    private static let certificate = "certificate: { certificate_file: a.pem, private_key_file: a.key }"

    @Test(
        "A key that other users of the machine can read or change is a warning",
        arguments: [
            (0o600, nil), (0o640, nil), (0o400, nil), (0o644, "every user of this machine can read the file: chmod o="),
            (0o660, "users other than its owner can change the file: chmod go-w,o="),
            (0o602, "users other than its owner can change the file: chmod go-w,o="),
        ] as [(mode_t, String?)])
    func exposure(mode: mode_t, warning: String?) throws {
        let folder = try TemporaryDirectory()
        let key = try folder.write(SigningKey.generate().pkcs8PEM, to: "AuthKey.p8")
        #expect(unsafe chmod(key, mode) == 0)
        let file = try folder.write("apps:\n  - topic: a\n    \(Self.token)\n", to: "harebell.yaml")
        let problems = try ConfigurationDocument.load(path: file).inspect(now: Self.now).problems
        #expect(problems.allSatisfy { $0.severity == .warning })
        let place = "\(file):3:24: warning: apps[0].token.key_file: "
        #expect(problems.map(\.description) == (warning.map { ["\(place)\($0) AuthKey.p8"] } ?? []))
    }

    /// The output of `check` for a file that is not a valid configuration: one line for each problem.
    private func everything(_ text: String, files: [String: String]) throws -> [String] {
        let folder = try TemporaryDirectory()
        for (name, content) in files { try folder.write(content, to: name) }
        let file = try folder.write(text, to: "harebell.yaml")
        let error = try #require(throws: ConfigurationError.self) { try ConfigurationDocument.load(path: file) }
        return error.inspect(now: Self.now).problems.map { $0.description.replacing(folder.path + "/", with: "") }
    }

    @Test("If the file is wrong, the files it names are still checked in the same run, with warnings")
    func everythingAtOnce() throws {
        let other = authority.issueProvider(bundleID: "com.example.other")
        let lines = try everything(
            """
            broker: { endpoints: ["amqp://${NOWHERE_SET}@a", "http://b"], password_file: missing.txt }
            workers: many
            apns: { request_timeout_seconds: 60 }
            apps:
              - topic: com.example.app
                environment: prod
                token: { key_file: missing.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
              - topic: com.example.app
                certificate: { certificate_file: a.pem, private_key_file: a.key }
              - environment: development
                ca_file: no.pem
                certificate: { p12_file: a.p12, password_file: empty }
              - topic: com.example.third
                token: { key_file: AuthKey.p8, key_id: ABC, team_id: }
                certificate: { p12_file: none.p12, private_key_file: a.key }
            admin: { listen: "127.0.0.1:9464", token_file: nothing.txt }
            """,
            files: [
                "a.pem": other.certificatePEM, "a.key": other.privateKeyPEM, "no.pem": "text", "a.p12": "text",
                "empty": "", "AuthKey.p8": SigningKey.generate().pkcs8PEM,
            ])
        let wanted = [
            "1:23: broker.endpoints[0]: the environment variable NOWHERE_SET is not set",
            "1:50: broker.endpoints[1]: ", "1:78: broker.password_file: cannot read missing.txt: No such file",
            "2:10: workers: expected an integer, found text",
            "6:18: apps[0].environment: \"prod\" is not one of production, development; did you mean \"production\"?",
            "7:24: apps[0].token.key_file: cannot read the signing key file missing.p8: No such file",
            "9:38: apps[1].certificate.certificate_file: the certificate is for \"com.example.other\"",
            "10:5: apps[2].topic is missing: ", "11:14: apps[2].ca_file: ",
            "12:30: apps[2].certificate.p12_file: the PKCS #12 file a.p12 is not a PKCS #12 file",
            "12:52: apps[2].certificate.password_file: cannot read empty: the file is empty",
            "14:44: warning: apps[3].token.key_id: has 3 characters",
            "14:58: apps[3].token.team_id: expected text, found nothing",
            "15:18: apps[3].certificate: apps[3].token is also given",
            "15:30: apps[3].certificate.p12_file: certificate_file or private_key_file is also given",
            "15:30: apps[3].certificate.p12_file: cannot read the PKCS #12 file none.p12: No such file",
            "16:48: admin.token_file: cannot read nothing.txt: No such file",
        ].map { "harebell.yaml:\($0)" }
        for (line, beginning) in zip(lines, wanted) { #expect(line.hasPrefix(beginning), "\(line)") }
        #expect(lines.count == wanted.count, "\(lines.joined(separator: "\n"))")
        #expect(!lines.joined().contains("PRIVATE"))
    }

    @Test(
        "An expired certificate is an error, and one that expires soon is a warning",
        arguments: [
            (-1, "2026-11-21T22:26:39Z", "the certificate expired on"),
            (0, "2026-11-21T22:26:40Z", "the certificate expires within a day, on"),
            (86_399, "2026-11-22T22:26:39Z", "the certificate expires within a day, on"),
            (86_400, "2026-11-22T22:26:40Z", "the certificate expires in 1 day, on"),
            (2_591_999, "2026-12-21T22:26:39Z", "the certificate expires in 29 days, on"), (2_592_000, "", nil),
        ] as [(Int64, String, String?)])
    func expiry(seconds: Int64, date: String, message: String?) throws {
        let end = WallTime(milliseconds: Self.now.milliseconds + seconds * 1000)
        let issued = authority.issueProvider(bundleID: "com.example.app", validUntil: end)
        let place = seconds < 0 ? Self.place : Self.warningPlace
        #expect(try check(issued) == (message.map { ["\(place) \($0) \(date)"] } ?? []))
        let files = ["a.pem": issued.certificatePEM, "a.key": issued.privateKeyPEM]
        let whole = try inspect(Self.certificate, files: files).whole
        #expect((whole.startable != nil) == (seconds >= 0) && whole.reloadErrors(using: []).isEmpty == (seconds >= 0))
        #expect(try whole.reloadErrors(using: [Certificate(pem: issued.certificatePEM)]).isEmpty, "it is in use")
        let more = files.merging(["AuthKey.p8": SigningKey.generate().pkcs8PEM]) { $1 }
        let extra = "  - topic: com.example.other\n    \(Self.token)\n"
        #expect(try inspect(Self.certificate, extra: extra, files: more).whole.startable != nil, "only its app pauses")
    }

    @Test("A key that does not belong to the certificate is an error")
    func mismatch() throws {
        let one = authority.issueProvider(bundleID: "com.example.app")
        let other = authority.issueProvider(bundleID: "com.example.app")
        #expect(
            try check((one.certificatePEM, other.privateKeyPEM)) == [
                "harebell.yaml:4:63: apps[0].certificate.private_key_file: the private key file a.key does not belong "
                    + "to the certificate file a.pem: it needs the key that the certificate was requested with"
            ])
    }

    @Test("The password of a PKCS #12 file is checked, unless it cannot be read, and with it the certificate")
    func password() throws {
        let folder = try TemporaryDirectory()
        let issued = authority.issueProvider(bundleID: "com.example.other", validUntil: Self.now)
        let pem = try folder.write(issued.privateKeyPEM + issued.certificatePEM, to: "a.pem")
        let p12 = folder.file("a.p12")
        let options = ["-in", pem, "-out", p12, "-passout", "pass:secret"]
        try ChildProcess.run("/usr/bin/openssl", ["pkcs12", "-export"] + options)
        let unsuitable = [
            "the certificate expires within a day, on 2026-11-21T22:26:40Z",
            "the certificate is for \"com.example.other\", the app's topic is \"com.example.app\"",
        ]
        for (more, messages) in [
            ("", ["the PKCS #12 file \(p12) needs a password"]), (", password_file: right", unsuitable),
            (", password_file: null", ["the PKCS #12 file \(p12) needs a password"]),
            (", password_file: wrong", ["the password of the PKCS #12 file \(p12) is wrong"]),
        ] {
            let problems = try inspect(
                "certificate: { p12_file: \(p12)\(more) }", files: ["right": "secret\n", "wrong": "s"]
            ).problems.map { $0.replacing("warning: ", with: "") }
            #expect(problems == messages.map { "harebell.yaml:4:30: apps[0].certificate.p12_file: \($0)" })
        }
        let app = "apps: [{ topic: a, certificate: { p12_file: \(p12), password_file: none } }]"
        let lines = try everything(app, files: [:])
        #expect(lines.count == 1 && lines[0].contains("password_file: cannot read none"), "\(lines)")
    }

    @Test("A certificate that is not valid yet, or does not name the app's topic, is an error")
    func unsuitable() throws {
        let start = WallTime(milliseconds: Self.now.milliseconds + 1000)
        let topics = ["com.example.other", "com.example.application"].map { ProviderExtensions.Topic($0) }
        let early = authority.issueProvider(bundleID: "com.example.app", validFrom: start)
        let other = authority.issueProvider(bundleID: "com.example.other", topics: topics)
        let unnamed = authority.issue(usage: .client, commonName: "a")
        let names = "\"com.example.other\", \"com.example.application\""
        for (issued, message) in [
            (early, "is not valid before 2026-11-21T22:26:41Z"),
            (other, "is for \(names), the app's topic is \"com.example.app\""),
            (unnamed, "names no topic: it is not a push certificate from Apple"),
        ] { #expect(try check(issued) == ["\(Self.place) the certificate \(message)"]) }
    }

    @Test("A certificate for one of the app's push types names the app")
    func voIP() throws {
        #expect(try check(authority.issueProvider(bundleID: "com.example.app.voip")).isEmpty)
        let listed = authority.issueProvider(bundleID: "x", topics: [.init("com.example.app.complication")])
        #expect(try check(listed).isEmpty)
    }

    @Test("A certificate for the other environment is an error, one for both fits each")
    func otherEnvironment() throws {
        for environment in Environment.allCases {
            let other = environment == .production ? Environment.development : .production
            let single = authority.issueProvider(bundleID: "com.example.app", environments: [other])
            #expect(
                try check(single, environment: environment.rawValue)
                    .map { $0.split(separator: "certificate_file: ").last ?? "" }
                    == ["the certificate is for the \(other.rawValue) environment, the app for \(environment.rawValue)"]
            )
            let universal = authority.issueProvider(bundleID: "com.example.app")
            #expect(try check(universal, environment: environment.rawValue).isEmpty)
        }
    }

    @Test("A certificate without environment extensions may be for development by its name")
    func developmentName() throws {
        let name = "Apple Development IOS Push Services: com.example.app"
        let issued = authority.issue(usage: .client, commonName: name, subjectUID: "com.example.app")
        #expect(
            try check(issued)
                == ["\(Self.warningPlace) the certificate looks like one for the development environment: \"\(name)\""])
        #expect(try check(issued, environment: "development").isEmpty)
    }

    @Test("An unreadable extension is a warning")
    func damaged() throws {
        let issued = authority.issue(
            usage: .client, subjectUID: "com.example.app",
            extensions: [X509Extension(identifier: "1.2.840.113635.100.6.3.6", value: [0x30, 0x05])])
        #expect(
            try check(issued)
                == ["\(Self.warningPlace) extension 1.2.840.113635.100.6.3.6 is damaged, its topics are not known"])
    }

    @Test("The findings for a certificate and a key are reported")
    func found() throws {
        let topics = [
            ProviderExtensions.Topic("com.example.app", kinds: ["app"]), .init("com.example.app.voip", kinds: ["voip"]),
        ]
        let issued = authority.issueProvider(bundleID: "com.example.app", topics: topics, validFrom: Self.now)
        let (problems, found, _) = try inspect(
            Self.certificate, files: ["a.pem": issued.certificatePEM, "a.key": issued.privateKeyPEM])
        #expect(problems.isEmpty)
        guard case .certificate(let certificate?) = found.credential else {
            Issue.record("no certificate was found")
            return
        }
        #expect(certificate.pushTopics == topics && found.topic == "com.example.app")

        let key = try inspect(Self.token, files: ["AuthKey.p8": SigningKey.generate().pkcs8PEM])
        guard key.problems.isEmpty,
            case .token(_, "ABC123DEFG", "DEF123GHIJ", isReadable: true) = key.app.credential
        else {
            Issue.record("\(key)")
            return
        }
        guard case .token(_, _, _, isReadable: false) = try inspect(Self.token).app.credential else {
            Issue.record("a key that is missing was read")
            return
        }
    }

    @Test("Every missing file is reported in one run")
    func allMissing() throws {
        let found = try inspect(
            Self.certificate,
            extra: """
                broker:
                  endpoints: ["amqps://a"]
                  tls: { ca_file: ca.pem, certificate_file: b.pem, private_key_file: b.key }

                """
        ).problems
        let files = cases(
            """
            4:38: apps[0].certificate.certificate_file → certificate file a.pem
            4:63: apps[0].certificate.private_key_file → private key file a.key
            7:19: broker.tls.ca_file → CA file ca.pem
            7:45: broker.tls.certificate_file → certificate file b.pem
            7:70: broker.tls.private_key_file → private key file b.key
            """)
        #expect(found == files.map { "harebell.yaml:\($0): cannot read the \($1): No such file or directory" })
    }
}
