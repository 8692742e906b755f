import Core
import Pipeline
import SimulatedWorld
import Simulator
import TestSupport
import Testing

@testable import Configuration

/// Channel requests on a queue: whole worker, whole APNs, virtual time.
@Suite("Channel requests")
struct ChannelRequestTests {
    private static let bundleID = ArraySlice("com.example.app".utf8)

    private static func body(_ channel: String, extra: String = "") -> String {
        "{\"apns-topic\":\"com.example.app\",\(extra)\"channel\":{\(channel)}}"
    }

    private static let create = body(#""operation":"create","message-storage-policy":1"#)
    private static let list = body(#""operation":"list""#)

    private static func channels(_ world: World) -> [String] {
        world.apns.channels.channels(of: bundleID).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Puts a request into the queue and waits for its result.
    private func result(_ world: World, _ body: String, within limit: Duration = .seconds(120)) throws
        -> World.Published
    {
        let before = world.published(in: "push.results").count
        try world.request(body)
        #expect(world.pass(atMost: limit) { world.isQuiet })
        let results = world.published(in: "push.results").dropFirst(before)
        #expect(results.count == 1, "exactly one result")
        return try #require(results.first)
    }

    /// The end of a result's JSON.
    private func channel(_ result: World.Published) -> String? {
        result.body.firstRange(of: ",\"channel\":").map { String(result.body[$0.upperBound...].dropLast()) }
    }

    @Test("A channel is created, gets a broadcast, is read, listed and deleted, and then it is unregistered")
    func life() throws {
        let world = try World.started()
        let created = try result(world, Self.create)
        let id = try #require(Self.channels(world).first)
        #expect(created.outcome == "accepted" && created.headers["harebell-status"] == nil)
        #expect(
            created.body.contains(#""device-token":null,"apns-channel-id":"\#(id)","apns-topic":"com.example.app""#))
        #expect(created.body.contains(#""status":201,"reason":null"#))
        #expect(
            channel(created)
                == #"{"operation":"create","apns-channel-id":"\#(id)","message-storage-policy":1,"channels":null}"#)

        let broadcast = try result(
            world,
            #"{"apns-channel-id":"\#(id)","apns-topic":"com.example.app.push-type.liveactivity","apns-expiration":0,"#
                + #""payload":{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}}"#)
        #expect(broadcast.outcome == "accepted" && !broadcast.body.contains(#""apns-unique-id":null"#))
        #expect(broadcast.body.contains(#"token":null,"apns-channel-id":"\#(id)","apns-topic":"com.example.app""#))

        let one = #""apns-channel-id":"\#(id)""#
        let read = try result(world, Self.body(#""operation":"read",\#(one)"#))
        #expect(
            channel(read)
                == #"{"operation":"read","apns-channel-id":"\#(id)","message-storage-policy":1,"channels":null}"#)
        #expect(
            channel(try result(world, Self.list))
                == #"{"operation":"list","apns-channel-id":null,"message-storage-policy":null,"channels":["\#(id)"]}"#)

        let deleted = try result(world, Self.body(#""operation":"delete",\#(one)"#))
        #expect(deleted.outcome == "accepted" && deleted.body.contains(#""status":204"#))
        #expect(Self.channels(world).isEmpty)

        let gone = try result(world, Self.body(#""operation":"read",\#(one)"#))
        #expect(gone.outcome == "unregistered" && gone.body.contains(#""reason":"ChannelNotRegistered""#))
        #expect(gone.body.contains(#""action":"forget-token""#))
        #expect(world.published(in: "push.feedback").map(\.body) == [gone.body])
        #expect(world.published(in: "push.dead").isEmpty)
    }

    private static let badPolicy = "channel.message-storage-policy: expected 0 (none) or 1 (the newest message)"
    private static let badChannel = "channel.apns-channel-id: expected base64, at most 256 characters"

    private static let invalidRequests = cases(
        #"""
        "channel":1 → channel: expected an object, found a number
        "channel":{"operation":"create"} → \#(badPolicy)
        "channel":{"operation":"create","message-storage-policy":2} → \#(badPolicy)
        "channel":{"operation":"read"} → \#(badChannel)
        "channel":{"operation":"delete","apns-channel-id":"a b"} → \#(badChannel)
        "payload":{"aps":{}},"channel":{"operation":"list"} → \#
            channel: expected neither payload nor device-tokens beside it
        "apns-priority":5,"channel":{"operation":"list"} → apns-priority: expected none beside channel
        "apns-push-type":"liveactivity","channel":{"operation":"list"} → apns-push-type: expected none beside channel
        "apns-collapse-id":"x","channel":{"operation":"list"} → apns-collapse-id: expected none beside channel
        "device-token":"00fc","channel":{"operation":"list"} → device-token: expected none beside channel
        "apns-topic":"com.example.third","channel":{"operation":"list"} → \#
            apns-topic: no app \"com.example.third\" is configured; did you mean \"com.example.other\"?; apns-topic: \#
        comes twice; the last one is used
        """#)

    @Test("An invalid channel request is reported with its place", arguments: invalidRequests)
    func invalid(members: String, detail: String) throws {
        let world = try World.started()
        let result = try result(world, "{\"apns-topic\":\"com.example.app\",\(members)}")
        #expect(result.outcome == "invalid" && result.body.contains("\"detail\":\"\(detail)\""))
        #expect(world.sent == 0 && world.published(in: "push.dead").count == 1)
    }

    @Test(
        "An app without channel permission pauses, and resumes when it has it",
        arguments: ["400 FeatureNotEnabled", "403 TopicMismatch"])
    func paused(response: String) throws {
        let world = try World.started(script: "operation create, first 1 request: \(response)")
        try world.request(Self.create)
        world.pass(.seconds(1))
        #expect(world.published(in: "push.results").isEmpty && world.broker.unsettledCount == 1)
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(Self.channels(world).count == 1)
    }

    // MARK: Unknown outcomes

    @Test(
        "A channel that may have been created is not created again: the result says that this is unknown",
        arguments: [
            ("silence", 1), ("rst INTERNAL_ERROR", 1), ("cut", 1), ("500 InternalServerError", 0),
            ("503 ServiceUnavailable", 0), ("502", 0),
        ])
    func unknownCreate(trouble: String, channels: Int) throws {
        let world = try World.started(script: "operation create: \(trouble)")
        let result = try result(world, Self.create)
        #expect(result.outcome == "undelivered" && result.body.contains(#""attempts":1,"processed":"unknown""#))
        #expect(Self.channels(world).count == channels && world.sent == 1)
        #expect(world.published(in: "push.dead").map(\.outcome) == ["undelivered"])
        #expect(world.worker?.counters[.uncertain] == 1)
    }

    private func channelToDelete(_ world: World) throws -> String {
        _ = try result(world, Self.create)
        let id = try #require(Self.channels(world).first)
        return Self.body(#""operation":"delete","apns-channel-id":"\#(id)""#)
    }

    @Test("A channel that an earlier attempt may have deleted is deleted")
    func lostDelete() throws {
        let world = try World.started(script: "operation delete, first 1 request: rst INTERNAL_ERROR")
        let delete = try channelToDelete(world)
        let deleted = try result(world, delete)
        #expect(Self.channels(world).isEmpty && world.sent == 3)
        #expect(deleted.outcome == "accepted" && deleted.body.contains(#""detail":"deleted by an earlier attempt""#))
        #expect(deleted.body.contains(#""status":400,"reason":"ChannelNotRegistered""#))
        // A channel that never existed is not.
        let again = try result(world, delete)
        #expect(again.outcome == "unregistered")
        #expect(world.published(in: "push.feedback").map(\.body) == [again.body])
    }

    @Test("A channel that another worker may have deleted is deleted")
    func redeliveredDelete() throws {
        let world = try World.started(script: "operation delete, first 1 request: silence")
        try world.request(try channelToDelete(world))
        #expect(Self.channels(world).isEmpty)
        world.kill()
        try world.start()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["accepted", "accepted"])
        #expect(results.last?.body.contains("deleted by an earlier attempt") == true)
        #expect(world.published(in: "push.feedback").isEmpty)
    }

    @Test(
        "Requests that were certainly not processed are sent again, including creations",
        arguments: ["goaway Shutdown last=before", "rst REFUSED_STREAM", "503 Shutdown"])
    func notProcessed(trouble: String) throws {
        let world = try World.started(script: "operation create, first 1 request: \(trouble)")
        let result = try result(world, Self.create)
        #expect(result.outcome == "accepted")
        #expect(Self.channels(world).count == 1 && world.sent == 2)
    }

    @Test("A creation that another worker may have sent is not sent again, a list is")
    func redelivered() throws {
        let world = try World.started(script: "operation create: silence")
        try world.request(Self.create.replacing("{\"apns-topic", with: "{\"apns-colapse-id\":1,\"apns-topic"), id: "m1")
        try world.request(Self.list, id: "m2")
        #expect(world.sent == 1, "one stream until APNs has taken a provider token")
        world.kill()
        try world.start()
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(Self.channels(world).count == 1)
        let results = world.published(in: "push.results")
        #expect(results.map(\.outcome) == ["undelivered", "accepted"])
        #expect(results[0].body.contains(#""attempts":0,"processed":"unknown""#))
        #expect(results[0].body.contains("created already; list the channels before asking again; apns-colapse-id"))
    }

    @Test("An unreadable response is accepted all the same, and reported as such", arguments: ["", " BadTopic"])
    func unreadable(reason: String) throws {
        let world = try World.started(script: "operation list: 200\(reason)")
        let result = try result(world, Self.list)
        #expect(result.outcome == "accepted")
        #expect(result.body.contains("\"detail\":\"the response of APNs cannot be read ("))
        #expect(channel(result)?.hasSuffix("\"channels\":null}") == true)
    }

    @Test("Channels have a separate connection, opened on demand; notifications continue without it")
    func ownConnection() throws {
        let management = Endpoint(host: "manage.test", port: 2196)
        let world = try World.started { $0.apps[0].managementEndpoint = management }
        world.pass(.seconds(60))
        let before = world.network.attempts
        try world.request(Self.list)
        world.pass(.seconds(1))
        #expect(world.network.attempts > before, "this world has no such host")
        try world.request(World.body())
        world.pass(.seconds(1))
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"])
        #expect(world.broker.unsettledCount == 1)
    }

    @Test("An unsent creation stays when its connection is lost: the redelivery would not be sent")
    func orphanedCreation() throws {
        let world = try World.started(before: { $0.isAPNsDown = true })
        try world.request(Self.create, id: "c1")
        world.pass(.seconds(1))
        world.cut(consuming: true)
        world.pass(.seconds(3))
        world.isAPNsDown = false
        #expect(world.pass(atMost: .seconds(60)) { world.isQuiet })
        #expect(world.published(in: "push.results").map(\.outcome) == ["accepted"] && Self.channels(world).count == 1)
    }
}
