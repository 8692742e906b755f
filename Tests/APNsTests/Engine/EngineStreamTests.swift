import APNs
import Core
import HTTP2
import TestSupport
import Testing

@Suite("APNsEngine: streams")
struct EngineStreamTests {
    @Test("With a provider token there is one stream until APNs has accepted a token")
    func oneStreamAtFirst() throws {
        let link = try Link(usesProviderToken: true)
        #expect(link.engine.freeStreams == 1 && !link.engine.isAuthenticated)
        link.server.onRequest = { $0.respond($1.stream, 403, #"{"reason":"ExpiredProviderToken"}"#) }
        try link.submit()
        #expect(link.engine.freeStreams == 0)
        link.pump()
        #expect(link.engine.freeStreams == 1, "a refused token opens nothing")
        link.server.onRequest = { $0.respond($1.stream, 400, #"{"reason":"BadDeviceToken"}"#) }
        try link.send()
        #expect(link.engine.freeStreams == 1000, "the token was taken, whatever became of the notification")
    }

    @Test("Streams end in any order, and the oldest open one is the next to time out")
    func timeoutOrder() throws {
        let link = try Link(responds: false) {
            $0.requestTimeout = .seconds(5)
            $0.stallLimit = .seconds(60)
        }
        let start = link.now
        for handle in Handle(0)..<4 {
            try link.submit(as: handle)
            link.pass(.seconds(1))
        }
        #expect(link.engine.inFlight == 4 && link.engine.nextDeadline == start + .seconds(5))
        link.server.respond(3)
        link.pump()
        #expect(link.engine.inFlight == 3 && link.engine.nextDeadline == start + .seconds(5))
        link.server.respond(1)
        link.pump()
        #expect(link.engine.inFlight == 2 && link.engine.nextDeadline == start + .seconds(7))
        link.pass(.seconds(3))
        #expect(link.engine.inFlight == 1 && link.engine.nextDeadline == start + .seconds(8))
    }

    @Test("With a certificate the SETTINGS limit applies from the start, within the client's own limit")
    func certificate() throws {
        for (theirs, free) in [(UInt32(100), 100), (5000, 1000)] {
            let link = try Link(opens: false, streams: theirs)
            #expect(link.engine.freeStreams == 0)
            link.open()
            #expect(link.engine.freeStreams == free)
        }
    }

    @Test("Stream limits of SETTINGS are followed down to 1 and 0 and up again, with requests in flight")
    func settingsChange() throws {
        let link = try Link(responds: false)
        for handle in Handle(0)..<3 { try link.submit(Fixture.request(handle), as: handle) }
        link.pump()
        var free: [Int] = []
        for limit in [1, 0, 4, 1000, 1] as [UInt32] {
            link.server.allow(streams: limit)
            link.pump()
            free.append(link.engine.freeStreams)
        }
        #expect(free == [0, 0, 1, 997, 0])
        for received in link.server.received { link.server.respond(received.stream) }
        link.pump()
        #expect(link.engine.freeStreams == 1)
        #expect(link.news() == ["ready", "responded 0: 200", "responded 1: 200", "responded 2: 200"])
    }

    @Test("Streams that GOAWAY covers are lost as unknown if they are open at the drain deadline")
    func drainDeadline() throws {
        let link = try Link(responds: false)
        for handle in Handle(0)..<2 { try link.submit(Fixture.request(handle), as: handle) }
        link.pump()
        link.server.goaway(last: 1)
        link.pass(.milliseconds(14_900))
        #expect(link.news() == ["ready", "goaway: NO_ERROR", "lost 1: no"] && link.server.pings == 1)
        link.pass(.milliseconds(100))
        #expect(link.news() == ["lost 0: unknown", "closed: drainDeadline"])
        #expect(link.server.isTransportClosed)
    }

    @Test(
        "A refused stream was not processed; any other reset leaves that unknown",
        arguments: [
            (HTTP2ErrorCode.refusedStream, "lost 1: no"), (.internalError, "lost 1: unknown"),
            (.cancel, "lost 1: unknown"), (.noError, "lost 1: unknown"), (.enhanceYourCalm, "lost 1: unknown"),
            (HTTP2ErrorCode(rawValue: 14), "lost 1: unknown"),
        ])
    func reset(code: HTTP2ErrorCode, news: String) throws {
        let link = try Link()
        link.server.onRequest = { $0.reset($1.stream, code) }
        try link.send()
        #expect(link.news() == ["ready", news])
        #expect(link.losses.map(\.isRefused) == [code == .refusedStream])
        #expect(link.engine.inFlight == 0 && link.engine.phase == .ready)
    }
}
