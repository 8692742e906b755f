@testable import APNs
import Core
import HTTP2
import TestSupport
import Testing

@Suite("APNsEngine: requests")
struct EngineRequestTests {
    @Test("A request matches Apple's documentation, and its response is returned")
    func request() throws {
        let link = try Link(usesProviderToken: true)
        #expect(link.news() == ["ready"] && link.engine.isEstablished)
        try link.send(Fixture.request(7, payload: 4096, expiration: 1_795_300_000, collapseID: "score-42"), as: 5)
        #expect(link.news() == ["responded 5: 200"])
        let received = try #require(link.server.received.first)
        #expect(
            received.request.headers.map(\.nameText) == [
                ":method", ":scheme", ":path", ":authority", "authorization", "apns-id", "apns-push-type",
                "apns-expiration", "apns-priority", "apns-topic", "apns-collapse-id",
            ])
        let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
        #expect(received.header(":method") == "POST" && received.header(":scheme") == "https")
        #expect(received.header(":path") == "/3/device/\(token)")
        #expect(received.header(":authority") == "api.push.apple.com")
        #expect(received.header("authorization")?.hasPrefix("bearer ") == true)
        #expect(received.header("apns-push-type") == "alert" && received.header("apns-priority") == "10")
        #expect(received.request.body[...] == Fixture.request(payload: 4096).notification.payload)
        #expect(!received.request.hasPriority && link.server.priorityFrames == 0)
    }

    @Test("Fields kept from the previous request never replace a request's own topic, type, priority or expiration")
    func preparedFields() throws {
        let link = try Link(usesProviderToken: true)
        var expected: [[String]] = []
        var random = SplitMix64(seed: 20)
        for number in Handle(1)...200 {
            let isBroadcast = Int.random(in: 0..<10, using: &random) == 0
            let topic = Bool.random(using: &random) ? "com.example.app" : "com.example.app-with-a-longer-name"
            let priority = try #require([nil, Priority.immediate, .considerate].randomElement(using: &random))
            let expiration: Int64? = try #require([nil, 0, 1_795_300_000].randomElement(using: &random))
            let collapseID = !isBroadcast && Bool.random(using: &random) ? "score-\(number.value)" : nil
            let request = Fixture.request(number)
            let content = Notification.Content(
                pushType: Bool.random(using: &random) ? .alert : .background, priority: priority,
                expiration: expiration, collapseID: collapseID.map { ArraySlice($0.utf8) },
                payload: request.notification.payload)
            let channel = Notification.Target.channel(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8))
            let target = isBroadcast ? channel : request.notification.target
            let notification = Notification(target: target, content)
            let sent = APNsRequest(notification, topic: ArraySlice(topic.utf8), id: request.id)
            let fields: [String?] = [
                "apns-push-type: \(content.pushType.name)", expiration.map { "apns-expiration: \($0)" },
                priority.map { "apns-priority: \($0.name)" }, isBroadcast ? nil : "apns-topic: \(topic)",
                collapseID.map { "apns-collapse-id: \($0)" },
            ]
            expected.append(fields.compactMap(\.self))
            try link.send(sent, as: number)
        }
        #expect(link.server.received.count == expected.count)
        for (index, (received, fields)) in zip(link.server.received, expected).enumerated() {
            let isBroadcast = received.header("apns-channel-id") != nil
            let id =
                "00000000-0000-1234-0000-" + String(String(UInt64(1) << 48 | UInt64(index + 1), radix: 16).dropFirst())
            #expect(received.header(isBroadcast ? "apns-request-id" : "apns-id") == id)
            let text = received.request.headers.map { "\($0.nameText): \(String(decoding: $0.value, as: UTF8.self))" }
            #expect(Array(text.dropFirst(isBroadcast ? 7 : 6)) == fields)
        }
    }

    @Test("A broadcast uses the bundle ID's path, with channel and request id, without topic and apns-id")
    func broadcast() throws {
        let link = try Link { $0.endpoint = Endpoint(host: "api.push.apple.com", port: 2197) }
        let request = Fixture.request(7)
        let content = Notification.Content(
            pushType: .liveactivity, priority: .immediate, expiration: 0, payload: request.notification.payload)
        let broadcast = Notification(target: .channel(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)), content)
        try link.send(APNsRequest(broadcast, topic: request.topic, id: request.id))
        let received = try #require(link.server.received.first)
        #expect(
            received.request.headers.map(\.nameText) == [
                ":method", ":scheme", ":path", ":authority", "apns-channel-id", "apns-request-id", "apns-push-type",
                "apns-expiration", "apns-priority",
            ])
        #expect(received.header(":path") == "/4/broadcasts/apps/com.example.app")
        #expect(received.header(":authority") == "api.push.apple.com:2197")
        #expect(received.header("apns-channel-id") == "dHN0LXNyY2gtY2hubA==")
        #expect(received.header("apns-request-id") == "00000000-0000-1234-0000-000000000007")
    }

    @Test(
        "A channel request has Apple's method and path, the channel in a header, and a body only on creation",
        arguments: [
            (.create(.latest), "POST", "channels", #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#),
            (.create(.none), "POST", "channels", #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#),
            (.read(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)), "GET", "channels", ""),
            (.delete(ArraySlice("dHN0LXNyY2gtY2hubA==".utf8)), "DELETE", "channels", ""),
            (.list, "GET", "all-channels", ""),
        ] as [(ChannelOperation, String, String, String)])
    func management(operation: ChannelOperation, method: String, place: String, body: String) throws {
        let link = try Link(usesProviderToken: true)
        link.server.onRequest = { server, received in
            server.respond(
                received.stream, 201, "{}",
                headers: [HTTP2Header("apns-channel-id", "bmV3"), HTTP2Header("apns-request-id", "r-1")])
        }
        try link.send(
            APNsRequest(
                Notification(operation), topic: ArraySlice("com.example.app".utf8),
                id: NotificationID(high: 1, low: 2)))
        let received = try #require(link.server.received.first)
        let channelID = operation.channelID.map { _ in "apns-channel-id" }
        #expect(
            received.request.headers.map(\.nameText)
                == [
                    ":method", ":scheme", ":path", ":authority", "authorization", channelID, "apns-request-id",
                ].compactMap(\.self))
        #expect(received.header(":method") == method && received.header(":path") == "/1/apps/com.example.app/\(place)")
        #expect(received.header("apns-channel-id") == operation.channelID.map { String(decoding: $0, as: UTF8.self) })
        #expect(received.header("apns-request-id") == "00000000-0000-0001-0000-000000000002")
        #expect(String(decoding: received.request.body, as: UTF8.self) == body)
        guard case .responded(_, let response) = link.log.last else { return #expect(Bool(false), "no answer") }
        #expect(
            response
                == APNsResponse(
                    status: 201,
                    channel: ChannelResponse(
                        channelID: Array("bmV3".utf8), requestID: Array("r-1".utf8), body: Array("{}".utf8))))
        #expect(response != APNsResponse(status: 201, channel: ChannelResponse(channelID: Array("bmV3".utf8))))
    }

    @Test("Headers are indexed as Apple requires: ids once for their names, path and authorization never")
    func indexing() throws {
        let link = try Link(usesProviderToken: true)
        var tableSizes: [Int] = []
        for number in Handle(1)...50 {
            try link.send(
                Fixture.request(
                    number, expiration: 1_795_300_000 + Int64(number.value), collapseID: "score-\(number.value)"))
            tableSizes.append(link.server.http2.headerTableSize)
        }
        let once = ["apns-id", "apns-expiration", "apns-collapse-id"]
        let always = ["apns-push-type", "apns-priority", "apns-topic"]
        for (index, received) in link.server.received.enumerated() {
            let representations = received.representations
            #expect(representations[":path"] == .withoutIndexing)
            #expect(representations["authorization"] == .neverIndexed)
            for name in once { #expect(representations[name] == (index == 0 ? .incrementalIndexing : .neverIndexed)) }
            for name in always { #expect(representations[name] == (index == 0 ? .incrementalIndexing : .indexed)) }
        }
        #expect(link.server.received.count == 50 && Set(tableSizes).count == 1, "the table stays as it is")
    }

    @Test("Of a connection's topics only the first sixteen are indexed, so that many apps do not fill the table")
    func indexedTopics() throws {
        let link = try Link(usesProviderToken: true)
        let topics = (0..<40).map { "com.example.app\($0)" }
        for (number, topic) in zip(Handle(1)...80, topics + topics) {
            let request = Fixture.request(number)
            try link.send(APNsRequest(request.notification, topic: ArraySlice(topic.utf8), id: request.id))
        }
        let received = link.server.received
        #expect(received.map { $0.header("apns-topic") } == topics + topics)
        let representations = received.map { $0.representations["apns-topic"] }
        #expect(representations[..<16].allSatisfy { $0 == .incrementalIndexing })
        #expect(representations[40..<56].allSatisfy { $0 == .indexed })
        #expect((representations[16..<40] + representations[56...]).allSatisfy { $0 == .neverIndexed })
    }

    @Test("Everything works when the wire carries one byte at a time")
    func split() throws {
        let link = try Link(usesProviderToken: true, opens: false)
        link.piece = 1
        link.open()
        link.server.onRequest = { server, received in
            server.respond(received.stream, 410, #"{"reason":"Unregistered","timestamp":1795300000000}"#)
        }
        for handle in Handle(1)...2 { try link.send(Fixture.request(handle, payload: 300), as: handle) }
        link.server.goaway(last: 3, #"{"reason":"IdleTimeout"}"#)
        link.pump()
        #expect(
            link.news() == [
                "ready", "responded 1: 410 Unregistered", "responded 2: 410 Unregistered", "goaway: IdleTimeout",
                "closed: goaway",
            ])
    }

    @Test("A burst is sent in one drain, however many parts it is written in")
    func burst() throws {
        let link = try Link()
        let requests = Handle(1)...600
        for number in requests { try link.submit(Fixture.request(number, payload: 100), as: number) }
        let agenda = Agenda()
        link.engine.eventWaker = agenda.waker(of: 0)
        var output = ByteQueue()
        link.engine.drain(into: &output)
        #expect(output.copy().count > 3 * APNsEngine.plaintextPart)
        var rest = ByteQueue()
        link.engine.drain(into: &rest)
        #expect(rest.copy().isEmpty)
        #expect(agenda.hasWoken == false, "a write causes no events")
        output.withBytes { link.server.receive($0, at: link.now) }
        link.pump()
        #expect(link.news() == ["ready"] + requests.map { "responded \($0.value): 200" })
        let ids = link.server.received.map { $0.header("apns-id") }
        #expect(ids == requests.map { Fixture.request($0).id.description })
        // The memory of the burst has been released.
        try link.send(Fixture.request(601), as: 601)
        #expect(link.news() == ["responded 601: 200"])
    }

    @Test("The response's timestamp and unique id are kept")
    func response() throws {
        let link = try Link()
        link.server.onRequest = { server, received in
            server.respond(
                received.stream, 410, #"{"reason":"Unregistered","timestamp":1795300000000}"#,
                headers: [HTTP2Header("apns-id", "x"), HTTP2Header("apns-unique-id", "u-1")])
        }
        try link.send()
        guard case .responded(_, let response) = link.log.last else { return #expect(Bool(false), "no answer") }
        let reason = RejectionReason(rawValue: "Unregistered")
        #expect(
            response
                == APNsResponse(status: 410, reason: reason, timestamp: 1_795_300_000_000, uniqueID: Array("u-1".utf8)))
    }
}
