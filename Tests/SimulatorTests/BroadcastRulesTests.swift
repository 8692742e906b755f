import Core
import Testing

@testable import Simulator

@Suite("The rules of broadcasts and channels")
struct BroadcastRulesTests {
    let registry = ChannelRegistry(limit: 2)

    func response(
        _ changes: [String: String?] = [:], _ body: [UInt8] = Samples.payload, keyTopics: [String] = []
    ) -> SimulatedResponse? {
        var rules = RequestRules()
        rules.keyTopics = keyTopics.map { Array($0.utf8) }
        let fields = RequestHeaders(Samples.broadcast(changes))
        return SimulatedResponse.thrown { () throws(SimulatedResponse) in
            guard case .broadcast(let bundleID) = try RequestTarget(fields) else {
                throw SimulatedResponse(599, "not a broadcast's path")
            }
            try rules.check(broadcastTo: bundleID, fields, body: body) { registry.policy(of: $0, bundleID) }
        }?.withoutCause
    }

    func addChannel(_ policy: ChannelRegistry.StoragePolicy = .mostRecentMessageStored) {
        registry.add(Array(Samples.channelID.utf8), of: Array("com.example.MyApp".utf8)[...], policy)
    }

    @Test("Apple's sample broadcast is accepted on a channel that exists")
    func sample() {
        #expect(response() == SimulatedResponse(400, "ChannelNotRegistered"))
        addChannel()
        #expect(response() == nil)
        #expect(response(["apns-push-type": "Liveactivity"]) == nil)
        #expect(response(["apns-request-id": "2288D36B-96CB-4F60-A3B0-6EBDB59A4CEC"]) == nil)
        #expect(response(["apns-expiration": "1795219200"]) == nil)
        #expect(
            response([":path": "/4/broadcasts/apps/com.example.Other"])
                == SimulatedResponse(400, "ChannelNotRegistered"))
    }

    @Test(
        "Every invalid header is refused with Apple's status and reason",
        arguments: [
            (":method", "GET", 405, "MethodNotAllowed"), ("apns-request-id", "x", 400, "BadMessageId"),
            ("apns-push-type", nil, 400, "MissingPushType"), ("apns-push-type", "alert", 400, "InvalidPushType"),
            ("apns-channel-id", nil, 400, "MissingChannelId"), ("apns-channel-id", "???", 400, "BadChannelId"),
            ("apns-channel-id", "AAAA", 400, "ChannelNotRegistered"),
            ("apns-expiration", nil, 400, "BadExpirationDate"), ("apns-expiration", "x", 400, "BadExpirationDate"),
            ("apns-priority", nil, 400, "BadPriority"), ("apns-priority", "2", 400, "BadPriority"),
            (":path", "/4/broadcasts/apps/com.example.MyApp.push-type.liveactivity", 400, "TopicDisallowed"),
        ] as [(String, String?, Int, String)])
    func brokenHeader(name: String, value: String?, status: Int, reason: String) {
        addChannel()
        #expect(response([name: value]) == SimulatedResponse(UInt16(status), reason))
    }

    @Test("A channel without storage accepts only messages that expire at once")
    func expiration() {
        addChannel(.noMessageStored)
        #expect(response() == nil)
        #expect(response(["apns-expiration": "1795219200"]) == SimulatedResponse(400, "BadExpirationDate"))
    }

    @Test("A broadcast has at most 5120 bytes and is a payload like others")
    func payload() {
        addChannel()
        let text = { (count: Int) in Array("{\"aps\":{}}".utf8) + [UInt8](repeating: 0x20, count: count - 10) }
        #expect(response([:], text(5120)) == nil)
        #expect(response([:], text(5121)) == SimulatedResponse(413, "PayloadTooLarge"))
        #expect(response([:], []) == SimulatedResponse(400, "PayloadEmpty"))
        #expect(response([:], Array("{}".utf8)) == SimulatedResponse(400, "PayloadEmpty"))
    }

    @Test("An app that the key or the service does not cover is a mismatch")
    func topicMismatch() {
        addChannel()
        #expect(response(keyTopics: ["com.example.Other"]) == SimulatedResponse(403, "TopicMismatch"))
    }

    // MARK: Channel management

    func manage(_ operation: ScriptOperation, _ body: String = "", channel: [UInt8]? = nil) -> SimulatedResponse {
        var random = SplitMix64(seed: 7)
        for _ in registry.channels(of: Array("com.example.MyApp".utf8)[...]) { _ = random.next() }
        var fields = RequestHeaders([])
        fields.channelID = channel
        do throws(SimulatedResponse) {
            return try RequestRules().perform(
                operation, on: Array("com.example.MyApp".utf8)[...], fields, body: Array(body.utf8), registry,
                random: &random)
        } catch {
            return error.withoutCause
        }
    }

    static let create = "{\"push-type\":\"LiveActivity\",\"message-storage-policy\":1}"

    @Test("A channel is created, read, listed and deleted, and then does not exist")
    func lifeOfAChannel() throws {
        let created = manage(.create, Self.create)
        #expect(created.status == 201)
        let channelID = try #require(created.channelID)
        #expect(Base64.standard.decode(channelID.span)?.count == 16)
        #expect(
            manage(.read, channel: channelID)
                == SimulatedResponse(200, content: "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}"))
        #expect(manage(.list).content == "{\"channels\":[\"\(String(decoding: channelID, as: UTF8.self))\"]}")
        #expect(manage(.delete, channel: channelID) == SimulatedResponse(204))
        #expect(manage(.read, channel: channelID) == SimulatedResponse(400, "ChannelNotRegistered"))
        #expect(manage(.delete, channel: channelID) == SimulatedResponse(400, "ChannelNotRegistered"))
    }

    @Test(
        "A channel that cannot be created is refused with Apple's reason",
        arguments: [
            ("", "PayloadEmpty"), ("x", "BadRequestPayload"), ("{}", "MissingPushType"),
            ("{\"push-type\":\"LiveActivity\"}", "MissingChannelQueueSize"),
            ("{\"push-type\":\"liveactivity\",\"message-storage-policy\":1}", "InvalidPushType"),
            ("{\"push-type\":\"LiveActivity\",\"message-storage-policy\":2}", "BadRequestParams"),
            ("{\"push-type\":\"LiveActivity\",\"message-storage-policy\":1,\"colour\":1}", "BadRequestParams"),
        ])
    func badCreation(body: String, reason: String) {
        #expect(manage(.create, body) == SimulatedResponse(400, reason))
    }

    @Test("An app has a limited number of channels")
    func channelLimit() {
        #expect(manage(.create, Self.create).status == 201)
        #expect(manage(.create, Self.create).status == 201)
        #expect(manage(.create, Self.create) == SimulatedResponse(400, "CannotCreateChannelConfig"))
    }
}
