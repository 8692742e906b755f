import HTTP2
import TestSupport
import Testing

@testable import Simulator

/// Faults that no healthy server has, and that a client must survive.
@Suite("The simulator's faults")
struct FaultTests {
    @Test("Headers can come without their body, and the connection can end then")
    func withheldBody() throws {
        let provider = try Provider(
            script: "token 01*: 400 BadTopic then=silence\ntoken 02*: 400 BadTopic then=silence, cut")
        let waiting = try provider.send(token: "01")
        #expect(provider.responses[waiting] == nil && provider.resets[waiting] == nil)
        #expect(provider.http.openStreams == 1)
        #expect(provider.status(try provider.send()) == 200)
        try provider.send(token: "02")
        #expect(provider.isClosed && !provider.hasFarewell)
    }

    @Test("GOAWAY waits neither for an unfinished nor for a missing response, and still for a late one")
    func closeWithUnfinishedResponse() throws {
        let provider = try Provider(
            script: "token 01*: 400 BadTopic then=silence\ntoken 02*: silence\ntoken 03*: hold 5s, goaway Shutdown")
        for token in ["02", "01", "02"] { try provider.send(token: token) }
        // The client no longer waits for this one.
        provider.http.cancel(stream: 1)
        let late = try provider.send(token: "03")
        try provider.advance(by: .seconds(5))
        #expect(provider.status(late) == 200 && provider.isClosed && provider.hasFarewell)
    }

    @Test("A GOAWAY that does not fit into a frame is a failure of its connection, and only one")
    func largeGoaway() throws {
        let reason = String(repeating: "x", count: 16_384)
        let provider = try Provider(script: "token 01*: goaway \"\(reason)\", goaway \"\(reason)\"")
        try provider.send(token: "01")
        #expect(provider.isClosed && provider.context.ledger.statistics.failedConnections == 1)
    }

    @Test("A stream can be reset after its headers")
    func resetAfterHeaders() throws {
        let provider = try Provider(script: "token 01*: 200 then=CANCEL")
        let handle = try provider.send(token: "01")
        #expect(provider.responses[handle] == nil)
        #expect(provider.resets[handle] == .cancel)
        #expect(provider.status(try provider.send()) == 200)
    }

    @Test("Everything can be delayed: SETTINGS, acknowledgements, responses")
    func hold() throws {
        let provider = try Provider(script: "connect: hold 5s\ntoken 01*: hold 1s")
        #expect(provider.limits.isEmpty)
        let first = try provider.send()
        try provider.advance(by: .milliseconds(4999))
        #expect(provider.responses[first] == nil && provider.limits.isEmpty)
        try provider.advance(by: .milliseconds(1))
        #expect(provider.status(first) == 200)
        #expect(provider.limits.last == 1000)
        let second = try provider.send(token: "01")
        #expect(provider.responses[second] == nil)
        try provider.advance(by: .seconds(1))
        #expect(provider.status(second) == 200)
    }

    @Test("Of two delays that overlap, the longer one counts")
    func overlappingHolds() throws {
        let provider = try Provider(script: "token 01*: hold 5s\ntoken 02*: hold 2s")
        // Before the first response a connection has one stream.
        try provider.send()
        let requests = try [provider.send(token: "01"), provider.send(token: "02")]
        try provider.advance(by: .milliseconds(4999))
        #expect(requests.allSatisfy { provider.responses[$0] == nil })
        try provider.advance(by: .milliseconds(1))
        #expect(requests.allSatisfy { provider.status($0) == 200 })
    }

    @Test("A header table can be of any size, and frames can be larger", arguments: [0, 4096, 65536])
    func sizes(table: Int) throws {
        let provider = try Provider(
            script: """
                connect: settings table=\(table)
                token 01*: settings table=0 frame=65536
                token 02*: settings table=65536
                """)
        for token in ["00", "01", "00", "02", "00"] { #expect(provider.status(try provider.send(token: token)) == 200) }
        #expect(provider.context.ledger.statistics.failedConnections == 0)
    }

    @Test("The last stream ID of HTTP/2 works like others")
    func lastStream() throws {
        let provider = try Provider(Provider.context(), firstStreamID: .max)
        let ledger = RecordedLedger(observing: provider.context)
        #expect(provider.status(try provider.send()) == 200)
        #expect(ledger.records.map(\.stream) == [.max])
    }
}
