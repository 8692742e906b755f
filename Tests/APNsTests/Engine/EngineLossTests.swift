import APNs
import Core
import HTTP2
import TLS
import TestSupport
import Testing

@Suite("APNsEngine: loss")
struct EngineLossTests {
    @Test("A loss says how far the request got, and which GOAWAY came before")
    func phases() throws {
        let link = try Link()
        link.server.onRequest = { server, received in
            if received.stream == 3 { server.reset(3, .refusedStream) }
            if received.stream == 5 { server.reset(5, .internalError) }
        }
        for handle in Handle(1)...3 { try link.submit(as: handle) }
        link.pump()
        try link.submit(as: 4)
        link.server.goaway(last: 7, #"{"reason":"Shutdown"}"#)
        link.pump()
        link.cut()
        #expect(
            link.losses.map(\.detail).sorted() == [
                "APNs did not process the request",
                "APNs reset the stream without a response (INTERNAL_ERROR), after it was sent",
                "the connection was lost: the connection was reset (ECONNRESET), after it was sent; "
                    + "GOAWAY said NO_ERROR Shutdown",
                "the connection was lost: the connection was reset (ECONNRESET), after it was sent; "
                    + "GOAWAY said NO_ERROR Shutdown",
            ])
        let unsent = try Link()
        try unsent.submit()
        unsent.cut()
        #expect(unsent.losses.first?.detail.hasSuffix("before it was sent") == true)
    }

    @Test("A loss names the source of the connection's end: transport, TLS, HTTP/2 or the client")
    func causes() throws {
        let ends: [(word: String, end: (Link) throws -> Void)] = [
            ("the connection was reset (ECONNRESET)", { $0.cut() }),
            ("closed the connection without GOAWAY", { $0.server.hangsUp = true }),
            ("closed the connection without GOAWAY", { $0.server.tls.close() }),
            // OpenSSL 3.0 goes on with "wrong version number", 3.5 with "bad record type".
            (
                "TLS with the server api.push.apple.com failed: ",
                { $0.engine.receive([UInt8](repeating: 0xFF, count: 64).span, at: $0.now) }
            ),
            (
                "the peer broke HTTP/2",
                { link in
                    try link.send(as: 2)
                    var queue = ByteQueue()
                    link.server.respond(3)
                    link.server.drain(into: &queue)
                    try link.server.tls.write([UInt8](repeating: 0xFF, count: 64).span)
                    link.server.tls.drain(into: &queue)
                    queue.withBytes { link.engine.receive($0, at: link.now) }
                    link.pump()
                    #expect(link.news().contains("responded 2: 200"), "it came before")
                    #expect(link.server.hasGoaway, "the peer is told")
                }
            ),
            (
                "did not respond to a PING in time",
                { link in
                    link.server.ignoresInput = true
                    link.pass(.seconds(16))
                }
            ),
        ]
        for (word, end) in ends {
            let link = try Link(responds: false)
            try link.send()
            try end(link)
            link.pump()
            let detail = try #require(link.losses.first?.detail, "\(word)")
            #expect(detail.hasPrefix("the connection was lost: ") && detail.hasSuffix(", after it was sent"))
            #expect(detail.contains(word))
            #expect(link.losses.count == 1)
        }
    }

    /// A request whose response has headers and no end.
    private func linkWithEndlessResponse(
        _ status: UInt16, headers: [HTTP2Header] = [], body: String = "", _ request: APNsRequest = Fixture.request()
    ) throws -> Link {
        let link = try Link()
        link.server.onRequest = { server, received in
            var response = HTTP2ServerResponse(status: status, headers: headers, body: Array(body.utf8))
            response.staysOpen = true
            do { try server.http2.respond(stream: received.stream, response) } catch { Issue.record(error) }
        }
        try link.send(request)
        #expect(link.news() == ["ready"])
        return link
    }

    private let endings: [(name: String, end: (Link) -> Void)] = [
        ("time-out", { $0.pass(.seconds(30)) }), ("reset", { $0.server.reset(1, .internalError) }),
        ("refused", { $0.server.reset(1, .refusedStream) }), ("cut", { $0.cut() }),
        ("closed", { $0.server.hangsUp = true }),
        (
            "drain deadline",
            {
                $0.engine.retire(at: $0.now)
                $0.pass(.seconds(15))
            }
        ),
    ]

    @Test("A 200 whose stream does not end is accepted, however it ends: a retry would be a certain duplicate")
    func acceptedWithoutEnd() throws {
        for (name, end) in endings {
            let link = try linkWithEndlessResponse(200, headers: [HTTP2Header("apns-unique-id", "u-1")])
            end(link)
            link.pump()
            #expect(link.news().first == "responded 1: 200", "\(name)")
            #expect(link.losses.isEmpty && link.engine.inFlight == 0, "\(name)")
            guard case .responded(_, let response) = link.log[1] else { continue }
            #expect(response.uniqueID == Array("u-1".utf8), "\(name)")
        }
    }

    @Test("Any other status without its body is lost as unknown, because the action depends on the reason")
    func refusedWithoutEnd() throws {
        for status in [400, 403, 410, 429, 500, 503] {
            for (name, end) in endings {
                let link = try linkWithEndlessResponse(UInt16(status))
                end(link)
                link.pump()
                #expect(link.news().first == "lost 1: unknown", "\(status), \(name)")
                #expect(link.losses[0].detail.contains(", after status \(status) without a body"))
            }
        }
    }

    @Test("A truncated channel list is lost, and a created channel is known from the headers")
    func channelsWithoutEnd() throws {
        func request(_ operation: ChannelOperation) -> APNsRequest {
            APNsRequest(
                Notification(operation), topic: ArraySlice("com.example.app".utf8),
                id: NotificationID(high: 0x1234, low: 1))
        }
        #expect(APNsEngine.Configuration.maximumChannelList > 10_000 * 259, "quoted IDs of 256 characters")
        let read = try linkWithEndlessResponse(200, body: #"{"channels":["#, request(.list))
        try read.send(request(.create(.none)), as: 2)
        read.cut()
        #expect(read.news().prefix(2).sorted() == ["lost 1: unknown", "responded 2: 200"])
        let created = try linkWithEndlessResponse(
            201, headers: [HTTP2Header("apns-channel-id", "c-1")], request(.create(.none)))
        created.cut()
        #expect(created.news().first == "responded 1: 201")
        guard case .responded(_, let response) = created.log[1] else { return }
        #expect(response.channel?.channelID == Array("c-1".utf8))
    }

    @Test("A request that is reported as not sent is absent from the last bytes written")
    func lastWords() throws {
        let link = try Link(responds: false)
        try link.send(as: 1)
        try link.submit(as: 2)
        // As on a socket that accepts nothing until the connection is given up.
        while let deadline = link.engine.nextDeadline { link.engine.expire(at: deadline) }
        link.pump()
        #expect(Set(link.news()) == ["ready", "lost 1: unknown", "lost 2: no", "closed: stalled"])
        #expect(link.server.received.map(\.stream) == [1] && link.server.hasGoaway)
    }

    @Test("Wherever the wire is cut, each request ends once, and none that arrived is reported as 'not processed'")
    func cutAnywhere() throws {
        let whole = try cutLink()
        whole.open()
        let handshake = (engine: whole.engineBytes, server: whole.serverBytes)
        try submit(to: whole)
        try #require(whole.news().count == 4)
        // The handshake is always the same, so a few cuts suffice; after it, every byte is cut once.
        for position in Array(stride(from: 1, to: handshake.engine, by: 29)) + (handshake.engine..<whole.engineBytes) {
            try checkCut("after \(position) bytes of the engine") { $0.engineBudget = position }
        }
        for position in Array(stride(from: 1, to: handshake.server, by: 29)) + (handshake.server..<whole.serverBytes) {
            try checkCut("after \(position) bytes of the server") { $0.serverBudget = position }
        }
    }

    private func checkCut(_ place: String, _ limit: (Link) -> Void) throws {
        let link = try cutLink()
        limit(link)
        link.open()
        try submit(to: link)
        if link.isOpen { link.cut() }
        let news = link.news()
        #expect(news.last?.hasPrefix("closed") == true, "\(place): \(news)")
        #expect(news.filter { $0.hasPrefix("closed") }.count == 1, "\(place)")
        var ended: [Handle] = []
        let arrived = Set(link.server.received.compactMap { $0.header("apns-id")?.last?.wholeNumberValue })
        for event in link.log {
            switch event {
            case .responded(let handle, _): ended.append(handle)
            case .lost(let handle, let loss):
                ended.append(handle)
                if loss.processed == .no { #expect(!arrived.contains(handle.index), "\(place)") }
            case .ready, .goaway, .closed: break
            }
        }
        #expect(Set(ended).count == ended.count, "\(place)")
        #expect(link.engine.inFlight == 0 && link.engine.wantsDisconnect && link.engine.nextDeadline == nil, "\(place)")
    }

    private func cutLink() throws -> Link {
        let link = try Link(usesProviderToken: true, opens: false)
        link.server.onRequest = { server, received in
            server.respond(received.stream, 410, #"{"reason":"Unregistered","timestamp":1795300000000}"#)
        }
        return link
    }

    private func submit(to link: Link) throws {
        for handle in Handle(1)...3 where link.engine.freeStreams > 0 {
            try link.send(Fixture.request(handle, payload: 200), as: handle)
        }
    }
}
