import Core
import HTTP2
import TestSupport
import Testing

@Suite("A connection's life")
struct LifecycleTests {
    @Test("starts without a limit of streams, and without SETTINGS from the peer")
    func beforeSettings() throws {
        let pair = try Pair()
        pair.server.holdsOutput = true
        try pair.settle()
        #expect(pair.clientEvents().isEmpty)
        #expect(pair.client.raw.remoteMaxConcurrentStreams == .max)
        try pair.send(1)
        #expect(pair.requests().count == 1)
        pair.server.holdsOutput = false
        try pair.settle()
        #expect(pair.clientEvents().contains { if case .settings = $0 { true } else { false } })
        #expect(pair.client.raw.remoteMaxConcurrentStreams == 1000 && pair.client.remoteMaxHeaderList == 8000)
    }

    @Test("never raises the last stream of a GOAWAY while an earlier one is queued")
    func goawayTwice() throws {
        let pair = try Pair()
        try pair.send(1)
        pair.server.holdsOutput = true
        try pair.server.goaway()
        try pair.send(2)
        try pair.server.goaway()
        pair.server.holdsOutput = false
        try pair.settle()
        let last: [Int32] = pair.clientEvents().compactMap { event in
            if case .goaway(let last, _, _) = event { last } else { nil }
        }
        #expect(last == [1, 1])
    }

    @Test("reports a GOAWAY first, then its resets as REFUSED_STREAM")
    func goaway() throws {
        let pair = try Pair()
        for handle in 1...5 { try pair.post(Handle(handle)) }
        try pair.settle()
        _ = pair.clientEvents()
        try pair.server.goaway(lastStreamID: 3, code: .noError, debugData: Array("{\"reason\":\"Shutdown\"}"))
        try pair.server.respond(stream: 1, status: 200)
        try pair.settle()
        let events = pair.clientEvents()
        guard case .goaway(3, .noError, let debugData) = try #require(events.first) else {
            Issue.record("GOAWAY comes first")
            return
        }
        #expect(debugData.text == "{\"reason\":\"Shutdown\"}")
        var refused: Set<Handle> = []
        var responded: [Handle] = []
        for event in events.dropFirst() {
            if case .reset(let handle, .refusedStream, nil) = event { refused.insert(handle) }
            if case .response(let handle, _) = event { responded.append(handle) }
        }
        #expect(refused == [3, 4, 5] && responded == [1])
        #expect(pair.client.openStreams == 1 && pair.client.wantsRead)
        try pair.server.respond(stream: 3, status: 200)
        try pair.settle()
        #expect(pair.endings().map(\.handle) == [2])
        #expect(!pair.client.wantsRead && !pair.client.wantsWrite)
        let error = #expect(throws: HTTP2Error.self) { try pair.post(6) }
        #expect(error?.code == .startStreamNotAllowed)
    }

    @Test("refuses queued requests on GOAWAY, even when no stream is allowed")
    func goawayWithUnwritten() throws {
        let pair = try Pair.settled(server: { $0.initial[.maxConcurrentStreams] = 0 })
        try pair.post(1)
        try pair.post(2, body: payload(10))
        try pair.settle()
        #expect(pair.server.openStreams == 0 && pair.client.openStreams == 2)
        try pair.server.goaway(lastStreamID: 0)
        try pair.settle()
        #expect(pair.endings().map(\.code) == [.refusedStream, .refusedStream] && pair.client.openStreams == 0)
    }

    @Test("ends a cancelled request at once, written or not")
    func cancel() throws {
        let pair = try Pair.settled(server: { $0.initial[.maxConcurrentStreams] = 1 })
        let written = try pair.post(1)
        let waiting = try pair.post(2)
        try pair.settle()
        pair.client.cancel(stream: written)
        pair.client.cancel(stream: waiting, code: .internalError)
        pair.client.cancel(stream: waiting)
        pair.client.cancel(stream: 99)
        let endings = pair.endings()
        #expect(endings.map(\.handle) == [1, 2] && endings.map(\.code) == [.cancel, .internalError])
        try pair.server.respond(stream: written, status: 200)
        try pair.settle()
        #expect(pair.endings().isEmpty && pair.client.openStreams == 0 && pair.server.openStreams == 0)
        let closed = pair.serverEvents().compactMap { event in
            if case .closed(let stream, let code) = event { (stream, code) } else { nil }
        }
        #expect(closed.map(\.0) == [1] && closed.map(\.1) == [.cancel])
        pair.client.cancel(stream: written)
        #expect(pair.clientEvents().isEmpty)
        // Far more in a second than nghttp2 would bear by itself.
        for _ in 0..<1200 {
            let stream = try pair.send(3)
            pair.client.cancel(stream: stream)
        }
    }

    @Test("runs out of stream identifiers")
    func exhaustion() throws {
        let pair = try Pair(client: { $0.firstStreamID = .max - 2 })
        #expect(try pair.client.raw.remainingStreamIDs == 2 && pair.post(1) == .max - 2)
        #expect(pair.client.raw.remainingStreamIDs == 1)
        #expect(try pair.post(2) == .max)
        #expect(pair.client.raw.remainingStreamIDs == 0)
        let error = #expect(throws: HTTP2Error.self) { try pair.post(3) }
        #expect(error?.code == .streamIDNotAvailable)
        #expect(pair.client.openStreams == 2)
        try pair.settle()
        for (stream, _) in pair.requests() { try pair.server.respond(stream: stream, status: 200) }
        try pair.settle()
        #expect(pair.endings().count == 2)
        try pair.client.terminate()
        try pair.settle()
    }
}
