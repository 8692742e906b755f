import Core
import TLS
import TestSupport
import Testing

@testable import Configuration
@testable import Pipeline
@testable import Runtime

@Suite("Apps with certificates")
struct CertificateAppsTests {
    private static let now = WallTime(milliseconds: 1_795_300_000_000)
    private static let authority = CertificateAuthority(commonName: "Test", now: now)

    private static func certificate(_ bundleID: String, _ topics: [String] = []) throws -> Certificate {
        try Certificate(
            pem: authority.issueProvider(bundleID: bundleID, topics: topics.map { .init($0) }).certificatePEM)
    }

    private static func app(
        _ topic: String, _ environment: Environment = .production, _ certificate: Certificate? = nil
    ) -> PipelineApp {
        PipelineApp(
            topic: topic, environment: environment,
            pools: PipelineApp.Pools(notifications: 0, broadcasts: 0, management: 0), certificate: certificate)
    }

    private static func resolve(
        _ apps: [PipelineApp], topic: String?, _ type: PushType, _ environment: Environment? = nil,
        channel: String? = nil
    ) throws -> String {
        let token = try #require(DeviceToken("00fc"))
        let notification = Core.Notification(
            target: channel.map { .channel(ArraySlice($0.utf8)) } ?? .device(token),
            Core.Notification.Content(
                topic: topic.map { ArraySlice($0.utf8) }, pushType: type, environment: environment, payload: []))
        return switch AppTable(apps).resolve(notification) {
        case .success(let match): "\(match.app) \(String(decoding: match.topic, as: UTF8.self))"
        case .failure(let failure): failure.detail
        }
    }

    @Test("A push type is sent with a certificate only if its topic is listed", arguments: PushType.allCases)
    func listed(type: PushType) throws {
        let certificate = try Self.certificate(
            "com.example.app", ["com.example.app", "com.example.app.voip", "com.example.app.complication"])
        let found = try Self.resolve([Self.app("com.example.app", .production, certificate)], topic: nil, type)
        let full = "com.example.app\(type.topicSuffix)"
        switch type {
        case .alert, .background, .voip, .complication: #expect(found == "0 \(full)")
        case .mdm: #expect(found.hasPrefix("apns-push-type: the topic of mdm is the UID of an MDM certificate"))
        case .location, .liveactivity:
            #expect(
                found
                    == "apns-push-type: \(type) cannot be sent with a certificate, only with a provider token")
        case .controls, .fileprovider, .pushtotalk, .widgets:
            #expect(
                found == "apns-push-type: the app's certificate does not list \"\(full)\", the topic of \(type)")
        }
    }

    @Test("Location and Live Activities need a provider token even where a certificate lists their topics")
    func never() throws {
        let certificate = try Self.certificate(
            "com.example.app", ["com.example.app.location-query", "com.example.app.push-type.liveactivity"])
        for type in [PushType.location, .liveactivity] {
            #expect(
                try Self.resolve([Self.app("com.example.app", .production, certificate)], topic: nil, type)
                    .contains("only with a provider token"))
        }
    }

    @Test("A broadcast is sent on a connection with a certificate: it has no separate topic")
    func broadcast() throws {
        let certificate = try Self.certificate("com.example.app")
        let found = try Self.resolve(
            [Self.app("com.example.app", .production, certificate)], topic: "com.example.app", .liveactivity,
            channel: "dHN0LXNyY2gtY2hubA==")
        #expect(found.hasPrefix("0 com.example.app"))
    }

    @Test("A certificate without a list is for its subject only")
    func subjectOnly() throws {
        let apps = [try Self.app("com.example.app", .production, Self.certificate("com.example.app"))]
        #expect(try Self.resolve(apps, topic: nil, .alert) == "0 com.example.app")
        #expect(
            try Self.resolve(apps, topic: nil, .voip)
                == "apns-push-type: the app's certificate does not list \"com.example.app.voip\", the topic of voip")
        let voIP = [try Self.app("com.example.app", .production, Self.certificate("com.example.app.voip"))]
        #expect(try Self.resolve(voIP, topic: nil, .voip) == "0 com.example.app.voip")
        #expect(try Self.resolve(voIP, topic: nil, .alert).contains("does not list \"com.example.app\""))
    }

    @Test("The topic of MDM is the user ID of the certificate's subject")
    func mdm() throws {
        let uid = "com.apple.mgmt.External.0f1e2d3c"
        let certificate = try Self.certificate(uid)
        let named = [Self.app(uid, .production, certificate)]
        #expect(try Self.resolve(named, topic: uid, .mdm) == "0 \(uid)")
        #expect(try Self.resolve(named, topic: nil, .mdm) == "0 \(uid)")
        // The configured topic may be another that the certificate lists.
        let listed = try Self.certificate(uid, ["com.example.app"])
        let apps = [Self.app("com.example.app", .production, listed)]
        #expect(try Self.resolve(apps, topic: "com.example.app", .mdm) == "0 \(uid)")
        #expect(try Self.resolve(apps, topic: uid, .mdm) == "0 \(uid)")
        #expect(try Self.resolve(apps, topic: "com.example.app", .alert) == "0 com.example.app")
        // With a provider token it is the configured one.
        #expect(try Self.resolve([Self.app(uid)], topic: nil, .mdm) == "0 \(uid)")
    }

    @Test("A connection belongs to one environment, even if both have one endpoint and one key")
    func connections() throws {
        let directory = try TemporaryDirectory()
        let token = "token: { key_file: a.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }"
        let file = try directory.write(
            """
            apps:
              - { topic: com.example.one, endpoint: "https://localhost:8443", \(token) }
              - { topic: com.example.one, environment: development, endpoint: "https://localhost:8443", \(token) }
              - { topic: com.example.two, endpoint: "https://localhost:8443", \(token) }
            """, to: "harebell.yaml")
        let configuration = try ConfigurationDocument.load(path: file).configuration
        let plans = configuration.apps.map { PoolPlan($0, for: .notifications, configuration.apns) }
        #expect(!plans[0].isAlike(plans[1]))
        #expect(plans[0].isAlike(plans[2]))
    }

    @Test("Among several apps a missing topic means the one whose certificate names one topic")
    func missing() throws {
        let missing = "apns-topic: missing, and more than one app is configured"
        let one = try Self.certificate("com.example.one")
        let two = try Self.certificate("com.example.two")
        let many = try Self.certificate("com.example.many", ["com.example.many", "com.example.many.voip"])
        let token = Self.app("com.example.token")
        let apps = [
            token, Self.app("com.example.one", .production, one), Self.app("com.example.many", .production, many),
        ]
        #expect(try Self.resolve(apps, topic: nil, .alert) == "1 com.example.one")
        #expect(try Self.resolve([apps[0], apps[2]], topic: nil, .alert) == missing)
        #expect(try Self.resolve(apps + [Self.app("com.example.two", .production, two)], topic: nil, .alert) == missing)

        let both = apps + [Self.app("com.example.one", .development, one)]
        #expect(try Self.resolve(both, topic: nil, .alert) == "1 com.example.one")
        #expect(try Self.resolve(both, topic: nil, .alert, .development) == "3 com.example.one")
        #expect(try Self.resolve(apps, topic: nil, .alert, .development) == missing)
    }
}
