import Core
import TLS
import TestSupport
import Testing

@testable import Pipeline

@Suite("Apps with certificates")
struct CertificateAppsTests {
    private static let now = WallTime(milliseconds: 1_795_300_000_000)
    private static let authority = CertificateAuthority(commonName: "Test", now: now)

    private static func certificate(_ bundleID: String, _ topics: [String] = []) throws -> Certificate {
        try Certificate(
            pem: authority.issueProvider(bundleID: bundleID, topics: topics.map { .init($0) }).certificatePEM)
    }

    @Test(
        "A push type is sent with a certificate only if its topic is listed, some only with a provider token",
        arguments: PushType.allCases)
    func listed(type: PushType) throws {
        let certificate = try Self.certificate(
            "com.example.app",
            ["", ".voip", ".complication", ".location-query", ".push-type.liveactivity"].map { "com.example.app\($0)" })
        let found = try resolve(AppTable([app("com.example.app", .production, certificate)]), topic: nil, type)
        let full = "com.example.app\(type.rules.topicSuffix)"
        switch type {
        case .alert, .background, .voip, .complication: #expect(found == "0 \(full)")
        case .mdm: #expect(found.hasPrefix("apns-push-type: the topic of mdm is the UID of an MDM certificate"))
        case .location, .liveactivity:
            #expect(found == "apns-push-type: \(type) cannot be sent with a certificate, only with a provider token")
        case .controls, .fileprovider, .pushtotalk, .widgets:
            #expect(found == "apns-push-type: the app's certificate does not list \"\(full)\", the topic of \(type)")
        }
    }

    @Test("A broadcast is sent on a connection with a certificate: it has no separate topic")
    func broadcast() throws {
        let certificate = try Self.certificate("com.example.app")
        let found = try resolve(
            AppTable([app("com.example.app", .production, certificate)]), topic: "com.example.app", .liveactivity,
            target: .channel(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)))
        #expect(found.hasPrefix("0 com.example.app"))
    }

    @Test("A certificate without a list is for its subject only")
    func subjectOnly() throws {
        let apps = [try app("com.example.app", .production, Self.certificate("com.example.app"))]
        #expect(try resolve(AppTable(apps), topic: nil, .alert) == "0 com.example.app")
        #expect(
            try resolve(AppTable(apps), topic: nil, .voip)
                == "apns-push-type: the app's certificate does not list \"com.example.app.voip\", the topic of voip")
        let voIP = [try app("com.example.app", .production, Self.certificate("com.example.app.voip"))]
        #expect(try resolve(AppTable(voIP), topic: nil, .voip) == "0 com.example.app.voip")
        #expect(try resolve(AppTable(voIP), topic: nil, .alert).contains("does not list \"com.example.app\""))
    }

    @Test("The topic of MDM is the user ID of the certificate's subject")
    func mdm() throws {
        let uid = "com.apple.mgmt.External.0f1e2d3c"
        let certificate = try Self.certificate(uid)
        let named = [app(uid, .production, certificate)]
        #expect(try resolve(AppTable(named), topic: uid, .mdm) == "0 \(uid)")
        #expect(try resolve(AppTable(named), topic: nil, .mdm) == "0 \(uid)")
        // The configured topic may be another that the certificate lists.
        let listed = try Self.certificate(uid, ["com.example.app"])
        let apps = [app("com.example.app", .production, listed)]
        #expect(try resolve(AppTable(apps), topic: "com.example.app", .mdm) == "0 \(uid)")
        #expect(try resolve(AppTable(apps), topic: uid, .mdm) == "0 \(uid)")
        #expect(try resolve(AppTable(apps), topic: "com.example.app", .alert) == "0 com.example.app")
        // With a provider token it is the configured one.
        #expect(try resolve(AppTable([app(uid)]), topic: nil, .mdm) == "0 \(uid)")
    }

    @Test("Among several apps a missing topic means the one whose certificate names one topic")
    func missing() throws {
        let missing = "apns-topic: missing, and more than one app is configured"
        let one = try Self.certificate("com.example.one")
        let two = try Self.certificate("com.example.two")
        let many = try Self.certificate("com.example.many", ["com.example.many", "com.example.many.voip"])
        let token = app("com.example.token")
        let apps = [token, app("com.example.one", .production, one), app("com.example.many", .production, many)]
        #expect(try resolve(AppTable(apps), topic: nil, .alert) == "1 com.example.one")
        #expect(try resolve(AppTable([apps[0], apps[2]]), topic: nil, .alert) == missing)
        let another = app("com.example.two", .production, two)
        #expect(try resolve(AppTable(apps + [another]), topic: nil, .alert) == missing)

        let both = apps + [app("com.example.one", .development, one)]
        #expect(try resolve(AppTable(both), topic: nil, .alert) == "1 com.example.one")
        #expect(try resolve(AppTable(both), topic: nil, .alert, .development) == "3 com.example.one")
        #expect(try resolve(AppTable(apps), topic: nil, .alert, .development) == missing)
    }
}
