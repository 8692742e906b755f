import APNs
import Core
import HTTP2
import TestSupport
import Testing

@Suite("APNsEngine: deadlines and handshakes")
struct EngineTimeTests {
    @Test("A request without a response is cancelled at its deadline, and its stream is free again")
    func deadline() throws {
        let link = try Link(responds: false, streams: 1)
        try link.submit()
        link.pass(.milliseconds(29999))
        #expect(link.news() == ["ready"] && link.engine.freeStreams == 0)
        link.pass(.milliseconds(1))
        #expect(link.news() == ["lost 1: unknown"])
        #expect(link.server.resets == [1: .cancel] && link.engine.freeStreams == 1)
        #expect(link.losses.first?.detail == "no response in time, after it was sent")
    }

    @Test("A request that SETTINGS held back is reported as not processed when its deadline passes")
    func deadlineUnwritten() throws {
        let link = try Link(responds: false)
        try link.send(as: 1)
        // The limit falls while the next request is not yet sent.
        var output = ByteQueue()
        link.server.allow(streams: 1)
        link.server.drain(into: &output)
        try link.submit(as: 2)
        output.withBytes { link.engine.receive($0, at: link.now) }
        link.pass(.seconds(30))
        #expect(link.news() == ["ready", "lost 1: unknown", "lost 2: no"])
        #expect(link.server.received.count == 1)
    }

    @Test("A peer that is silent with open requests gets a PING, and is given up when it does not respond")
    func stall() throws {
        let link = try Link(responds: false)
        link.pass(.milliseconds(3_599_900))
        try link.send()
        link.pass(.milliseconds(9900))
        #expect(link.server.pings == 0, "an idle one gets none for an hour")
        link.pass(.milliseconds(100))
        #expect(link.server.pings == 1)
        link.server.ignoresInput = true
        link.pass(.milliseconds(14900))
        #expect(link.news() == ["ready"])
        link.pass(.milliseconds(100))
        #expect(link.news() == ["lost 1: unknown", "closed: stalled"])
    }

    @Test("A handshake that does not finish is given up")
    func handshakeTimeout() throws {
        for isTLSDone in [false, true] {
            let link = try Link(opens: false)
            link.server.ignoresInput = !isTLSDone
            link.server.http2.holdsOutput = true
            link.open()
            link.pass(.milliseconds(9900))
            #expect(link.news().isEmpty)
            link.pass(.milliseconds(100))
            #expect(link.news() == ["closed: handshakeTimeout"])
            #expect(link.engine.isEstablished == false)
        }
    }

    @Test("A transport that never opened ends as one event")
    func neverOpened() throws {
        let link = try Link(opens: false)
        let failure = TransportError(.init(rawValue: "ECONNREFUSED"), "the peer does not listen")
        link.engine.transportClosed(failure, at: link.now)
        link.engine.transportClosed(failure, at: link.now)
        #expect(link.news() == ["closed: transport"])
    }
}
