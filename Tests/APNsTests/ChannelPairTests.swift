import APNs
import Core
import Simulator
import TLS
import TestSupport
import Testing

/// Our engine and the independently written simulator, with broadcasts and channels.
@Suite("Broadcasts and channels, with the simulator")
struct ChannelPairTests {
    /// A pool, and an APNs written separately from Apple's documentation.
    private final class Pair {
        private static let authority = CertificateAuthority(commonName: "A test authority", now: Fixture.start.wall)
        private static let server = authority.issue(names: [Fixture.endpoint.host], usage: .server)

        let context: SimulatorContext
        let network: MemoryNetwork
        let pool: APNsPool
        private var handles: Handle = 0

        init(_ script: String = "", _ change: (inout SimulatorConfiguration) -> Void = { _ in }) throws {
            var configuration = SimulatorConfiguration()
            change(&configuration)
            let script = try Script(script, file: "script", &configuration)
            let context = try SimulatorContext(
                configuration, script: script,
                identity: .pemText(
                    certificates: Self.server.certificatePEM, privateKey: Self.server.privateKeyPEM),
                now: Fixture.start)
            self.context = context
            network = MemoryNetwork(start: Fixture.start) { _ in
                do {
                    return try context.makeEngine()
                } catch {
                    preconditionFailure("an engine needs only memory: \(error)")
                }
            }
            var engine = APNsEngine.Configuration(endpoint: Fixture.endpoint, usesProviderToken: true)
            engine.maximumResponseBody = APNsEngine.Configuration.maximumChannelList
            var settings = APNsPool.Configuration(engine: engine)
            settings.connections = 0...1
            pool = APNsPool(
                configuration: settings,
                context: try TLSContext(
                    role: .client, trust: .pem(Self.authority.certificatePEM), protocols: ["h2"],
                    checkedAt: Fixture.start.wall),
                tokens: Fixture.tokens(), network: network, random: SplitMix64(seed: 1), at: network.now)
        }

        /// The outcome of one request.
        func ask(_ request: APNsRequest) throws -> APNsResponse {
            handles = handles.advanced(by: 1)
            pool.submit(request, handle: handles, at: network.now)
            var response: APNsResponse?
            network.settle { [unowned self] in
                pool.step(at: network.moment)
                while let event = pool.nextEvent() {
                    if case .responded(handles, let found, _) = event { response = found }
                }
                return pool.nextDeadline.map { $0 <= network.now } ?? false
            }
            return try #require(response)
        }

        func manage(
            _ operation: ChannelOperation, topic: String = "com.example.app", payload: String? = nil
        ) throws -> APNsResponse {
            var request = APNsRequest(operation, bundleID: ArraySlice(topic.utf8), id: Self.id)
            if let payload { request.payload = ArraySlice(payload.utf8) }
            return try ask(request)
        }

        func create(_ policy: MessageStoragePolicy = .latest) throws -> ArraySlice<UInt8> {
            ArraySlice(try #require(try manage(.create(policy)).channel?.channelID))
        }

        static let id = NotificationID(high: 0x1234, low: 0x5678)
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
        let pair = try Pair()
        let created = try pair.manage(.create(.none))
        #expect(text(created) == "201" && created.uniqueID == nil)
        let id = ArraySlice(try #require(created.channel?.channelID))
        let read = try pair.manage(.read(id))
        #expect(text(read) == "200")
        #expect(
            read.channel?.body.elementsEqual(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#.utf8) == true)
        let list = try pair.manage(.list)
        #expect(
            list.channel?.body.elementsEqual(#"{"channels":["\#(String(decoding: id, as: UTF8.self))"]}"#.utf8) == true)
        let deleted = try pair.manage(.delete(id))
        #expect(text(deleted) == "204")
        #expect(text(try pair.manage(.read(id))) == "400 ChannelNotRegistered")
        #expect(text(try pair.manage(.delete(id))) == "400 ChannelNotRegistered")
        for response in [created, read, list, deleted] {
            #expect(response.channel?.requestID == Array(Pair.id.description.utf8))
        }
        #expect(pair.context.ledger.statistics.connections == 1, "one connection carries them all")
        #expect(pair.context.ledger.statistics.wronglyIndexedHeaders == 0)
    }

    @Test(
        "A channel that APNs would not create is refused with Apple's reason",
        arguments: [
            ("", "400 PayloadEmpty"), ("colour", "400 BadRequestPayload"), ("[]", "400 BadRequestPayload"),
            ("{}", "400 MissingPushType"),
            (#"{"push-type":"LiveActivity"}"#, "400 MissingChannelQueueSize"),
            (#"{"push-type":"alert","message-storage-policy":0}"#, "400 InvalidPushType"),
            (#"{"push-type":"LiveActivity","message-storage-policy":2}"#, "400 BadRequestParams"),
            (#"{"push-type":"LiveActivity","message-storage-policy":0,"colour":1}"#, "400 BadRequestParams"),
        ])
    func badCreation(payload: String, response: String) throws {
        let pair = try Pair()
        #expect(text(try pair.manage(.create(.none), payload: payload)) == response)
        #expect(pair.context.channels.channels(of: Self.bytes("com.example.app")).isEmpty)
    }

    @Test(
        "A channel request without an app or a channel is refused with Apple's reason",
        arguments: [
            (ChannelOperation.read([]), "com.example.app", "400 MissingChannelId"),
            (.delete([]), "com.example.app", "400 MissingChannelId"),
            (.read(bytes("a")), "com.example.app", "400 BadChannelId"),
            (.delete(bytes("a-_=")), "com.example.app", "400 BadChannelId"),
            (.read(bytes("AAAA")), "com.example.app", "400 ChannelNotRegistered"),
            (.list, "com.example.app.push-type.liveactivity", "400 TopicDisallowed"),
            (.create(.none), "com.example.app.push-type.liveactivity", "400 TopicDisallowed"),
            (.list, "com.example.stranger", "403 TopicMismatch"),
            (.create(.none), "com.example.stranger", "403 TopicMismatch"),
            (.list, "com.example/app", "404 BadPath"), (.create(.none), "com.example/app", "404 BadPath"),
        ])
    func badRequest(operation: ChannelOperation, topic: String, response: String) throws {
        let pair = try Pair { $0.topics = [.init("com.example.app")] }
        #expect(text(try pair.manage(operation, topic: topic)) == response)
    }

    @Test("The number of an app's channels is limited, and deleting one frees a place")
    func limit() throws {
        let pair = try Pair { $0.maximumChannels = 2 }
        let first = try pair.create()
        _ = try pair.create()
        #expect(text(try pair.manage(.create(.latest))) == "400 CannotCreateChannelConfig")
        #expect(text(try pair.manage(.create(.latest), topic: "com.example.other")) == "201", "each app has its own")
        #expect(text(try pair.manage(.delete(first))) == "204")
        let third = try pair.create()
        #expect(third != first, "a deleted channel's ID never comes back")
        #expect(SimulatorConfiguration().maximumChannels == ChannelOperation.maximumChannels)
    }

    /// A broadcast as the pipeline builds it.
    private func broadcast(_ channelID: ArraySlice<UInt8>, _ edit: (inout APNsRequest) -> Void = { _ in })
        -> APNsRequest
    {
        var request = APNsRequest(
            target: .channel(channelID), topic: Self.bytes("com.example.app"), pushType: .liveactivity,
            priority: .immediate, expiration: 0, id: Pair.id,
            payload: Self.bytes(#"{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}"#))
        edit(&request)
        return request
    }

    @Test("A broadcast to a channel is accepted and named; one that expires later needs a storing channel")
    func broadcasts() throws {
        let pair = try Pair()
        let latest = try pair.create(.latest)
        let none = try pair.create(.none)
        let accepted = try pair.ask(broadcast(latest))
        #expect(text(accepted) == "200" && accepted.uniqueID?.count == 36)
        #expect(accepted.channel?.requestID == Array(Pair.id.description.utf8))
        #expect(text(try pair.ask(broadcast(none))) == "200")
        #expect(text(try pair.ask(broadcast(latest) { $0.expiration = 4_102_444_800 })) == "200")
        #expect(text(try pair.ask(broadcast(none) { $0.expiration = 4_102_444_800 })) == "400 BadExpirationDate")
        #expect(text(try pair.manage(.delete(latest))) == "204")
        #expect(text(try pair.ask(broadcast(latest))) == "400 ChannelNotRegistered")
    }

    @Test("A broadcast that breaks a rule is refused with Apple's reason")
    func badBroadcasts() throws {
        let pair = try Pair { $0.topics = [.init("com.example.app")] }
        let id = try pair.create()
        func response(_ edit: (inout APNsRequest) -> Void) throws -> String { text(try pair.ask(broadcast(id, edit))) }
        #expect(try response { $0.target = .channel([]) } == "400 MissingChannelId")
        #expect(try response { $0.target = .channel(Self.bytes("a")) } == "400 BadChannelId")
        #expect(try response { $0.target = .channel(Self.bytes("AAAA")) } == "400 ChannelNotRegistered")
        #expect(try response { $0.pushType = .alert } == "400 InvalidPushType")
        #expect(try response { $0.expiration = nil } == "400 BadExpirationDate")
        #expect(try response { $0.priority = nil } == "400 BadPriority")
        #expect(try response { $0.payload = [] } == "400 PayloadEmpty")
        #expect(try response { $0.topic = Self.bytes("com.example.stranger") } == "403 TopicMismatch")
        #expect(
            try response { $0.topic = Self.bytes("com.example.app.push-type.liveactivity") } == "400 TopicDisallowed")
        let space = { (count: Int) in
            Self.bytes("{\"aps\":{}}") + [UInt8](repeating: UInt8(ascii: " "), count: count - 10)
        }
        #expect(try response { $0.payload = space(5120) } == "200")
        #expect(try response { $0.payload = space(5121) } == "413 PayloadTooLarge")
    }
}
