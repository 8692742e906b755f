import APNs
import Core
import SimulatedWorld
import System
import TLS
import TestSupport
import Testing

@testable import Commands
@testable import Configuration

@Suite("APNsDiagnosis")
struct APNsDiagnosisTests {
    private static func app(
        _ topic: String, _ credential: Configuration.Credential, endpoint: Endpoint = apple
    ) throws -> Configuration.App {
        var app = try World.configuration().apps[0]
        app.topic = topic
        app.endpoint = endpoint
        app.managementEndpoint = channels
        app.caFile = nil
        app.credential = credential
        return app
    }

    private static let apple = Endpoint(host: "api.push.apple.com", port: 443)
    private static let channels = Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
    private static let key = Configuration.Credential.token(keyFile: "a.p8", keyID: "A", teamID: "T")
    private static let otherKey = Configuration.Credential.token(keyFile: "b.p8", keyID: "B", teamID: "T")
    private static let certificate = Configuration.Credential.pem(certificateFile: "a.pem", privateKeyFile: "a.key")

    private func targets(_ apps: [Configuration.App]) throws -> [APNsTarget] {
        APNsTarget.all(try World.configuration { $0.apps = apps })
    }

    @Test("Apps share a check if its result is the same for them")
    func shared() throws {
        let targets = try targets([
            Self.app("one", Self.key), Self.app("two", Self.key),
            Self.app("three", Self.otherKey), Self.app("seven", Self.otherKey), Self.app("eight", Self.otherKey),
            Self.app("four", Self.certificate), Self.app("five", Self.key, endpoint: Self.channels),
            Self.app("six", Self.key),
        ])
        #expect(
            targets.map { "\($0.endpoint) \($0.text)" } == [
                "api.push.apple.com:443 notifications of one, two, three and 3 more",
                "api-manage-broadcast.push.apple.com:2196 channels of one, two, five and 1 more",
                "api-manage-broadcast.push.apple.com:2196 channels of three, seven, eight",
                "api.push.apple.com:443 notifications of four",
                "api-manage-broadcast.push.apple.com:2196 channels of four",
                "api-manage-broadcast.push.apple.com:2196 notifications of five",
            ])
        #expect(targets.map(\.judgesToken) == [false, true, true, false, false, false])
    }

    private func diagnosis(_ credential: Configuration.Credential, channels: Bool) throws -> APNsTarget {
        let targets = try targets([Self.app("one", credential)])
        return try #require(channels ? targets.last : targets.first)
    }

    @Test(
        "A response about channels judges the provider token",
        arguments: [
            (200, nil, ConnectionFinding.Severity.ok), (400, "FeatureNotEnabled", .ok),
            (403, "InvalidProviderToken", .wrong), (403, "ExpiredProviderToken", .wrong),
            (403, "BadEnvironmentKeyInToken", .wrong), (403, "TopicMismatch", .warning),
            (429, "TooManyRequests", .note), (500, "InternalServerError", .note), (400, "SomethingNew", .note),
        ] as [(UInt16, String?, ConnectionFinding.Severity)])
    func token(status: UInt16, reason: String?, severity: ConnectionFinding.Severity) throws {
        let reply = APNsResponse(status: status, reason: reason.map { RejectionReason(rawValue: $0) })
        let found = try diagnosis(Self.key, channels: true).findings(about: reply)
        #expect(found.map(\.subject) == ["answer", "credential"])
        #expect(found.map(\.severity) == [.ok, severity] && found[1].text.contains(": APNs ") == (severity != .note))
    }

    @Test("Another response only shows that APNs is reachable, and a foreign one is doubted")
    func elsewhere() throws {
        let diagnosis = try diagnosis(Self.key, channels: false)
        for (status, reason) in [
            (405, "MethodNotAllowed"), (403, "MissingProviderToken"), (403, "InvalidProviderToken"),
        ] {
            let reply = APNsResponse(status: UInt16(status), reason: RejectionReason(rawValue: reason))
            #expect(diagnosis.findings(about: reply).map(\.severity) == [.ok], "\(reason)")
        }
        #expect(diagnosis.findings(about: APNsResponse(status: 404)).map(\.severity) == [.warning])
    }

    @Test("A certificate in its last day has 0 days left, and after that it has expired")
    func lastDay() throws {
        let authority = CertificateAuthority(commonName: "Test", now: WallTime(milliseconds: 1_790_000_000_000))
        let certificate = try Certificate(pem: authority.issueProvider(bundleID: "one").certificatePEM)
        let app = ConfigurationInspection.App(
            topic: "one", environment: "production", credential: .certificate(certificate))
        let (end, date) = (certificate.notAfter.milliseconds, certificate.notAfter.inUTC)
        for (time, text) in [(end, "expires on \(date) (0 days)"), (end + 1, "expired on \(date)")] {
            #expect(app.lines(at: WallTime(milliseconds: time)).first?.hasSuffix(", \(text)") == true, "\(text)")
        }
    }

    @Test("A certificate is checked wherever it is presented")
    func certificate() throws {
        for channels in [false, true] {
            let diagnosis = try diagnosis(Self.certificate, channels: channels)
            let refused = APNsResponse(status: 403, reason: RejectionReason(rawValue: "BadCertificate"))
            #expect(diagnosis.findings(about: refused).map(\.severity) == [.ok, .wrong])
            let taken = APNsResponse(status: 405, reason: RejectionReason(rawValue: "MethodNotAllowed"))
            #expect(diagnosis.findings(about: taken).map(\.severity) == [.ok])
        }
    }
}
