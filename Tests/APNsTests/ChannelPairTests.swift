import APNs
import Core
import Simulator
import TestSupport
import Testing

/// Our engine and the independently written simulator, with broadcasts and channels.
@Suite("Broadcasts and channels, with the simulator")
struct ChannelPairTests {
    private static let id = NotificationID(high: 0x1234, low: 0x5678)
    private let world: World

    init() throws {
        world = try World(tokens: Fixture.tokens()) {
            $0.engine.maximumResponseBody = APNsEngine.Configuration.maximumChannelList
        }
        world.simulator = try Fixture.simulator()
    }

    private func ask(_ request: APNsRequest) throws -> APNsResponse {
        let handle = Handle(world.responses.count)
        world.pool.submit(request, handle: handle, at: world.now.instant)
        world.pass(.seconds(1))
        return try #require(world.responses[handle])
    }

    private func manage(_ operation: ChannelOperation) throws -> APNsResponse {
        try ask(APNsRequest(Notification(operation), topic: Self.bytes("com.example.app"), id: Self.id))
    }

    private func create(_ policy: MessageStoragePolicy) throws -> ArraySlice<UInt8> {
        ArraySlice(try #require(try manage(.create(policy)).channel?.channelID))
    }

    private static func bytes(_ text: String) -> ArraySlice<UInt8> {
        ArraySlice(text.utf8)
    }

    /// Status and reason, as in Apple's tables.
    private func text(_ response: APNsResponse) -> String {
        "\(response.status)" + (response.reason.map { " \($0.rawValue)" } ?? "")
    }

    @Test("Each operation works, and each response repeats the request's id")
    func operations() throws {
        let created = try manage(.create(.none))
        #expect(text(created) == "201" && created.uniqueID == nil)
        let id = ArraySlice(try #require(created.channel?.channelID))
        let read = try manage(.read(id))
        #expect(text(read) == "200")
        #expect(
            read.channel?.body.elementsEqual(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#.utf8) == true)
        let list = try manage(.list)
        #expect(
            list.channel?.body.elementsEqual(#"{"channels":["\#(String(decoding: id, as: UTF8.self))"]}"#.utf8) == true)
        let deleted = try manage(.delete(id))
        #expect(text(deleted) == "204")
        #expect(text(try manage(.read(id))) == "400 ChannelNotRegistered")
        #expect(text(try manage(.delete(id))) == "400 ChannelNotRegistered")
        for response in [created, read, list, deleted] {
            #expect(response.channel?.requestID == Array(Self.id.description.utf8))
        }
        let seen = try #require(world.simulator).ledger.statistics
        #expect(seen.connections == 1)
    }

    /// A broadcast as the pipeline builds it.
    private func broadcast(_ channelID: ArraySlice<UInt8>, expiration: Int64 = 0) -> APNsRequest {
        let content = Notification.Content(
            pushType: .liveactivity, priority: .immediate, expiration: expiration,
            payload: Self.bytes(#"{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}"#))
        return APNsRequest(
            Notification(target: .channel(channelID), content), topic: Self.bytes("com.example.app"), id: Self.id)
    }

    @Test("A broadcast to a channel is accepted and named; one that expires later needs a storing channel")
    func broadcasts() throws {
        let latest = try create(.latest)
        let none = try create(.none)
        let accepted = try ask(broadcast(latest))
        #expect(text(accepted) == "200" && accepted.uniqueID?.count == 36)
        #expect(accepted.channel?.requestID == Array(Self.id.description.utf8))
        #expect(text(try ask(broadcast(none))) == "200")
        #expect(text(try ask(broadcast(latest, expiration: 4_102_444_800))) == "200")
        #expect(text(try ask(broadcast(none, expiration: 4_102_444_800))) == "400 BadExpirationDate")
        #expect(text(try manage(.delete(latest))) == "204")
        #expect(text(try ask(broadcast(latest))) == "400 ChannelNotRegistered")
    }
}
