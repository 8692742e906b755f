import Core
import Simulator
import TLS
import TestSupport
import Testing

/// The simulator requests client certificates, and trusts those of its authority.
@Suite("The certificate of a client")
struct ClientCertificateTests {
    private typealias Topic = ProviderExtensions.Topic

    private static let authority = CertificateAuthority(commonName: "Clients", now: Samples.start.wall)

    /// For an app, its VoIP service and its complication, and for two push types that need a provider token.
    private static let universal = authority.issueProvider(
        bundleID: "com.example.MyApp",
        topics: [
            Topic("com.example.MyApp", kinds: ["app"]), Topic("com.example.MyApp.voip", kinds: ["voip"]),
            Topic("com.example.MyApp.complication", kinds: ["complication"]),
            Topic("com.example.MyApp.location-query"), Topic("com.example.MyApp.push-type.liveactivity"),
        ])

    /// Without a list, as Apple issued them before topics were listed.
    private static let single = authority.issueProvider(bundleID: "com.example.MyApp")

    private func provider(
        _ issued: (certificatePEM: String, privateKeyPEM: String)?, _ script: String = "",
        environment: Environment = .production
    ) throws -> Provider {
        let context = try Provider.context(script) {
            $0.environment = environment
            $0.clientAuthorityPEM = Self.authority.certificatePEM
            $0.keys = [ProviderKey(keyID: Samples.keyID, teamID: Samples.teamID, publicKeyPEM: Samples.signingKey)]
        }
        return try Provider(
            context,
            identity: issued.map { .pemText(certificates: $0.certificatePEM, privateKey: $0.privateKeyPEM) })
    }

    /// The response to a notification with these headers and no provider token: "200 " or status and reason.
    private func response(
        _ provider: Provider, type: String? = "alert", topic: String? = "com.example.MyApp"
    ) throws -> String {
        let handle = try provider.send(["authorization": nil, "apns-push-type": type, "apns-topic": topic])
        return try #require(provider.reason(handle))
    }

    private static func refused(_ status: Int, _ reason: String) -> String {
        "\(status) {\"reason\":\"\(reason)\"}"
    }

    @Test("A certificate replaces the provider token, which is then ignored")
    func insteadOfToken() throws {
        let provider = try provider(Self.single)
        #expect(provider.limits.last == 1000)
        #expect(try response(provider) == "200 ")
        let handle = try provider.send(["authorization": "bearer nonsense"])
        #expect(provider.status(handle) == 200)
    }

    @Test("A client without a certificate needs a token, on the same port")
    func both() throws {
        let provider = try provider(nil)
        #expect(provider.limits == [1])
        #expect(try response(provider) == Self.refused(403, "MissingProviderToken"))
        #expect(provider.status(try provider.send()) == 200)
        #expect(provider.limits == [1, 1000])
    }

    @Test("A single topic is the default; one of several must be named")
    func defaultTopic() throws {
        #expect(try response(provider(Self.single), topic: nil) == "200 ")
        #expect(try response(provider(Self.universal), topic: nil) == Self.refused(400, "MissingTopic"))
    }

    @Test(
        "A push type is accepted if its topic is listed; Live Activities and location are refused even then",
        arguments: [
            ("alert", "", true), ("background", "", true), ("voip", ".voip", true),
            ("complication", ".complication", true), ("widgets", ".push-type.widgets", false),
            ("pushtotalk", ".voip-ptt", false), ("fileprovider", ".pushkit.fileprovider", false),
            ("controls", ".push-type.controls", false), ("location", ".location-query", false),
            ("liveactivity", ".push-type.liveactivity", false),
        ])
    func listed(type: String, suffix: String, isAccepted: Bool) throws {
        let provider = try provider(Self.universal)
        let handle = try provider.send([
            "authorization": nil, "apns-push-type": type, "apns-topic": "com.example.MyApp\(suffix)",
            "apns-priority": "5",
        ])
        #expect(provider.reason(handle) == (isAccepted ? "200 " : Self.refused(400, "TopicDisallowed")))
    }

    @Test("Without a list the subject is the only topic")
    func subject() throws {
        let provider = try provider(Self.single)
        #expect(try response(provider, topic: "com.example.Other") == Self.refused(400, "TopicDisallowed"))
        #expect(
            try response(provider, type: "voip", topic: "com.example.MyApp.voip")
                == Self.refused(400, "TopicDisallowed"))
        for type in ["voip", "liveactivity"] {
            #expect(try response(provider, type: type) == Self.refused(400, "BadTopic"), "the form comes first")
        }
    }

    @Test("MDM's topic is the user ID of the subject, and no other")
    func mdm() throws {
        let uid = "com.apple.mgmt.External.0f1e2d3c"
        let provider = try provider(
            Self.authority.issueProvider(
                bundleID: uid, topics: [Topic("com.example.MyApp")], environments: [.production]))
        #expect(try response(provider, type: "mdm", topic: uid) == "200 ")
        #expect(try response(provider, type: "mdm") == Self.refused(400, "BadTopic"))
        #expect(
            try response(provider, type: "mdm", topic: "com.apple.mgmt.External.0")
                == Self.refused(400, "TopicDisallowed"))
        #expect(try response(provider) == "200 ")
    }

    @Test("A certificate for the other environment is refused as such, and one for both is accepted in each")
    func environment() throws {
        for environment in Environment.allCases {
            let single = Self.authority.issueProvider(bundleID: "com.example.MyApp", environments: [environment])
            for other in Environment.allCases {
                #expect(
                    try response(provider(single, environment: other))
                        == (other == environment ? "200 " : Self.refused(403, "BadCertificateEnvironment")))
            }
            #expect(try response(provider(Self.universal, environment: environment)) == "200 ")
        }
    }

    @Test("A certificate that names no topic is bad")
    func nameless() throws {
        let issued = Self.authority.issue(usage: .client, commonName: "nobody")
        #expect(try response(provider(issued)) == Self.refused(403, "BadCertificate"))
    }

    @Test("A certificate that expires on an open connection is bad from then on")
    func expires() throws {
        // TLS uses the system's clock, for which it must be valid; the simulator's clock is moved.
        let lifetime: Int64 = 3000 * 86_400
        let end = WallTime(milliseconds: Samples.start.wall.milliseconds + lifetime * 1000)
        let provider = try provider(Self.authority.issueProvider(bundleID: "com.example.MyApp", validUntil: end))
        #expect(try response(provider) == "200 ")
        try provider.advance(by: .seconds(lifetime))
        #expect(try response(provider) == "200 ")
        try provider.advance(by: .seconds(1))
        #expect(try response(provider) == Self.refused(403, "BadCertificate"))
    }

    @Test("A broadcast and a channel belong to a bundle ID that the certificate names")
    func broadcast() throws {
        let provider = try provider(
            Self.universal,
            "set channel \(Samples.channelID) app=com.example.MyApp\nset channel \(Samples.channelID) "
                + "app=com.example.Other"
        )
        func reason(_ changes: [String: String?]) throws -> String? {
            let handle = try provider.submit(Samples.broadcast(changes.merging(["authorization": nil]) { $1 }))
            try provider.exchange()
            return provider.reason(handle)
        }
        #expect(try reason([:]) == "200 ")
        #expect(
            try reason([":path": "/1/apps/com.example.MyApp/all-channels", ":method": "GET"])
                == "200 {\"channels\":[\"\(Samples.channelID)\"]}")
        let other = "/4/broadcasts/apps/com.example.Other"
        #expect(try reason([":path": other]) == Self.refused(403, "TopicMismatch"))
        #expect(
            try reason([":path": "/1/apps/com.example.Other/all-channels", ":method": "GET"])
                == Self.refused(403, "TopicMismatch"))
    }

    @Test("An invalid authority is refused at the start")
    func badAuthority() {
        let failure = #expect(throws: Complaint.self) {
            _ = try Provider.context { $0.clientAuthorityPEM = "nothing" }
        }
        #expect(failure?.message.contains("the authority of its clients, cannot be used") == true)
    }
}
