import Core
import TLS
import TestSupport
import Testing

@testable import Pipeline

@Suite("App table")
struct AppTableTests {
    private static let two = AppTable([
        app("com.example.app"), app("com.example.app", .development), app("com.example.other"),
    ])
    private static let one = AppTable([app("com.example.app")])

    @Test(
        "Broadcasts and channels belong to the bundle ID, even if the request's topic has the suffix",
        arguments: ["com.example.app", "com.example.app.push-type.liveactivity"])
    func bundleID(requested: String) throws {
        let targets: [Core.Notification.Target] = [
            .channel(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)), .management(.list),
        ]
        for target in targets {
            #expect(try resolve(Self.one, topic: requested, .liveactivity, target: target) == "0 com.example.app")
        }
        #expect(Self.one.apps[0].pools.pool(for: targets[1]) == 10)
    }

    @Test(
        "A push type with a suffix is valid only if the suffix is its own",
        arguments: PushType.allCases.filter { $0 != .mdm })
    func pairs(type: PushType) throws {
        let own = "com.example.app\(type.rules.topicSuffix)"
        for other in PushType.allCases {
            let topic = "com.example.app\(other.rules.topicSuffix)"
            // Without a suffix it is the bundle ID.
            let isRight = topic == own || topic == "com.example.app"
            #expect(
                try resolve(Self.two, topic: topic, type)
                    == (isRight
                        ? "0 \(own)"
                        : "apns-topic: \"\(topic)\" contradicts apns-push-type \(type), whose topic is \"\(own)\""))
        }
    }

    @Test("The topic of mdm requires an app with the UID of an MDM certificate")
    func mdm() throws {
        let uid = "com.apple.mgmt.External.0f1e2d3c"
        let table = AppTable(Self.one.apps + [app(uid)])
        #expect(try resolve(table, topic: uid, .mdm) == "1 \(uid)")
        #expect(
            try resolve(table, topic: "com.example.app", .mdm)
                == "apns-push-type: the topic of mdm is the UID of an MDM certificate and starts with "
                + "\"com.apple.mgmt.\", \"com.example.app\" does not")
    }

    @Test(
        "A configured topic is a bundle ID, even if it ends like a suffix",
        arguments: PushType.allCases.filter { $0 != .mdm })
    func bundleIDWithSuffix(type: PushType) throws {
        for ending in PushType.allCases {
            let bundleID = "com.example.app\(ending.rules.topicSuffix)"
            let suffix = "\(type.rules.topicSuffix)"
            let table = AppTable([app(bundleID)])
            #expect(try resolve(table, topic: bundleID, type) == "0 \(bundleID)\(suffix)")
            #expect(try resolve(table, topic: bundleID + suffix, type) == "0 \(bundleID)\(suffix)")
        }
    }

    @Test("A name that is one app's full topic and another's bundle ID is the full topic, in either order")
    func fullTopicFirst() throws {
        let plain = app("com.example.app")
        let calls = app("com.example.app.voip")
        for apps in [[plain, calls], [calls, plain]] {
            let table = AppTable(apps)
            let position = apps[0].topic == plain.topic ? 0 : 1
            #expect(try resolve(table, topic: "com.example.app.voip", .voip) == "\(position) com.example.app.voip")
            #expect(try resolve(table, topic: "com.example.app.voip") == "\(1 - position) com.example.app.voip")
            #expect(
                try resolve(table, topic: "com.example.app.voip.voip", .voip)
                    == "\(1 - position) com.example.app.voip.voip")
            #expect(try resolve(table, topic: "com.example.app", .voip) == "\(position) com.example.app.voip")
        }
    }

    @Test("A topic of no app is unknown, even if it begins like one")
    func unknown() throws {
        for topic in ["com.example", "com.example.apps", "com.example.app.", "com.example.app.watch", ""] {
            #expect(try resolve(Self.two, topic: topic).hasPrefix("apns-topic: no app \"\(topic)\" is configured"))
        }
    }

    @Test("The environment selects among apps of one topic; without it the first one is used")
    func environment() throws {
        #expect(try resolve(Self.two, topic: "com.example.app") == "0 com.example.app")
        #expect(try resolve(Self.two, topic: "com.example.app", .alert, .production) == "0 com.example.app")
        #expect(try resolve(Self.two, topic: "com.example.app", .voip, .development) == "1 com.example.app.voip")
        #expect(
            try resolve(Self.two, topic: "com.example.other", .alert, .development)
                == "environment: no app \"com.example.other\" is configured for development")
    }

    @Test("Only the apps with the topic are searched, even among a thousand")
    func manyApps() throws {
        let table = AppTable(
            (0..<1000).map { app("com.example.app\($0 / 2)", $0 % 2 == 0 ? .production : .development) })
        for number in [0, 7, 250, 499] {
            let bundleID = "com.example.app\(number)"
            for topic in [bundleID, bundleID + ".voip"] {
                #expect(table.candidates(for: ArraySlice(topic.utf8)) == [AppID(2 * number), AppID(2 * number + 1)])
                #expect(try resolve(table, topic: topic, .voip) == "\(2 * number) \(bundleID).voip")
                #expect(try resolve(table, topic: topic, .voip, .development) == "\(2 * number + 1) \(bundleID).voip")
            }
        }
        #expect(table.candidates(for: ArraySlice("com.example.app500".utf8)).isEmpty)
    }

    @Test("An app is found by its topics after a reload")
    func reloaded() throws {
        var table = Self.one
        let uid = "com.apple.mgmt.External.0f1e2d3c"
        let authority = CertificateAuthority(commonName: "Test", now: WallTime(milliseconds: 1_795_300_000_000))
        let issued = authority.issueProvider(bundleID: uid, topics: [.init("com.example.app")])
        let certificate = try Certificate(pem: issued.certificatePEM)
        table.change(0, to: app("com.example.app", .production, certificate))
        #expect(try resolve(table, topic: uid, .mdm) == "0 \(uid)")
        // As many as are found by an index.
        table = AppTable(table.apps + (0..<5).map { app("com.example.\($0)") })
        table.configured.removeFirst()
        #expect(try resolve(table, topic: uid, .mdm).hasPrefix("apns-topic: no app"))
        table.configured = []
        #expect(try resolve(table, topic: "com.example.app") == "apns-topic: no app \"com.example.app\" is configured")
    }

    @Test("A missing topic means the only app, and is an error with several")
    func missing() throws {
        #expect(try resolve(Self.one, topic: nil, .voip) == "0 com.example.app.voip")
        #expect(
            try resolve(Self.one, topic: nil, .alert, .development)
                == "environment: no app is configured for development")
        #expect(try resolve(Self.two, topic: nil) == "apns-topic: missing, and more than one app is configured")
    }

    @Test("A wrong topic is reported with the other errors, unless it may be right")
    func beside() {
        func detail(_ table: AppTable, _ topic: String?, lacksTopic: Bool = false) -> String {
            var known = DecodingFailure.Known()
            known.topic = topic.map { ArraySlice($0.utf8) }
            known.lacksTopic = lacksTopic
            return table.checked(DecodingFailure("wrong", known: known)).detail
        }
        #expect(Self.two.checked(DecodingFailure("wrong")).detail == "wrong")
        for topic in [nil, "com.example.other", "com.example.app.voip"] { #expect(detail(Self.two, topic) == "wrong") }
        #expect(detail(Self.one, nil, lacksTopic: true) == "wrong")
        #expect(
            detail(Self.two, nil, lacksTopic: true)
                == "apns-topic: missing, and more than one app is configured; wrong")
        #expect(
            detail(Self.two, "com.example.ap")
                == "apns-topic: no app \"com.example.ap\" is configured; did you mean \"com.example.app\"?; wrong")
    }
}

/// An app of pool 0, and of pool 10 for its channels.
func app(_ topic: String, _ environment: Environment = .production, _ certificate: Certificate? = nil) -> PipelineApp {
    PipelineApp(
        topic: topic, environment: environment,
        pools: PipelineApp.Pools(notifications: 0, management: 10), certificate: certificate)
}

/// The app of a notification: its number and full topic, or the error.
func resolve(
    _ table: AppTable, topic: String?, _ type: PushType = .alert, _ environment: Environment? = nil,
    target: Core.Notification.Target? = nil
) throws -> String {
    let notification = Core.Notification(
        target: try target ?? .device(#require(DeviceToken("00fc"))),
        Core.Notification.Content(
            topic: topic.map { ArraySlice($0.utf8) }, pushType: type, environment: environment, payload: []))
    return switch table.resolve(notification) {
    case .success(let match): "\(match.app) \(String(decoding: match.topic, as: UTF8.self))"
    case .failure(let failure): failure.message
    }
}
