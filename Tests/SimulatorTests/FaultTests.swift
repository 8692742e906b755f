import Core
import HTTP2
import TestSupport
import Testing

@testable import Simulator

/// Faults that no healthy server has, and that a client must survive.
@Suite("The simulator's faults")
struct FaultTests {
    @Test(
        "The apns-id of a response can be the same, absent, in upper case or invalid",
        arguments: [
            ("same", Samples.id), ("none", nil), ("upper", Samples.id.uppercased()), ("garbage", "not a UUID"),
        ])
    func identifiers(form: String, expected: String?) throws {
        let provider = try Provider(script: "token 01*: 200 id=\(form)")
        let handle = try provider.send(token: "01")
        #expect(provider.status(handle) == 200)
        #expect(provider.header("apns-id", of: handle) == expected)
    }

    @Test("A response with another identifier has an unknown one, also for broadcasts")
    func otherIdentifier() throws {
        let provider = try Provider(
            script: "topic *: 200 id=other\nset channel \(Samples.channelID) app=com.example.MyApp")
        let handle = try provider.send()
        let id = try #require(provider.header("apns-id", of: handle))
        #expect(id != Samples.id && NotificationID(Array(id.utf8)[...]) != nil)
        let broadcast = try provider.submit(Samples.broadcast())
        try provider.exchange()
        let requestID = try #require(provider.header("apns-request-id", of: broadcast))
        #expect(requestID != Samples.id)
    }

    @Test("A body can come in many frames, with trailers behind it")
    func frames() throws {
        let provider = try Provider(script: "token 01*: 400 BadTopic frame=1 trailers=on")
        let handle = try provider.send(token: "01")
        #expect(provider.reason(handle) == "400 {\"reason\":\"BadTopic\"}")
        #expect(provider.status(try provider.send()) == 200)
    }

    @Test("A body can be truncated")
    func truncatedBody() throws {
        let provider = try Provider(script: "token 01*: 410 Unregistered body=truncated")
        #expect(provider.reason(try provider.send(token: "01")) == "410 {\"reason\":\"")
    }

    @Test("Headers can come without their body, and the connection can end then")
    func withheldBody() throws {
        let provider = try Provider(
            script: "token 01*: 400 BadTopic body=withheld\ntoken 02*: 400 BadTopic body=withheld, cut")
        let waiting = try provider.send(token: "01")
        #expect(provider.responses[waiting] == nil && provider.resets[waiting] == nil)
        #expect(provider.http.openStreams == 1)
        #expect(provider.status(try provider.send()) == 200)
        try provider.send(token: "02")
        #expect(provider.isClosed && !provider.hasFarewell)
    }

    @Test("A connection with an unfinished response can get GOAWAY")
    func closeWithUnfinishedResponse() throws {
        let provider = try Provider(script: "token 01*: 400 BadTopic body=withheld\ntoken 02*: goaway Shutdown")
        try provider.send(token: "01")
        try provider.send(token: "02")
        #expect(provider.isClosed && provider.hasFarewell)
    }

    @Test("A stream can be reset after its headers")
    func resetAfterHeaders() throws {
        let provider = try Provider(script: "token 01*: 200 body=withheld then=CANCEL")
        let handle = try provider.send(token: "01")
        #expect(provider.responses[handle] == nil)
        #expect(provider.reset(handle) == .cancel)
        #expect(provider.status(try provider.send()) == 200)
    }

    @Test("A stream can be reset more than once")
    func repeatedReset() throws {
        let provider = try Provider(script: "token 01*: rst REFUSED_STREAM times=3")
        let handle = try provider.send(token: "01")
        #expect(provider.reset(handle) == .refusedStream)
        #expect(provider.context.ledger.statistics.resets == 1)
        #expect(provider.status(try provider.send()) == 200)
        #expect(
            HTTP2ErrorCode.resetFrame(stream: 0x0102, .refusedStream) == [0, 0, 4, 3, 0, 0, 0, 1, 2, 0, 0, 0, 7])
    }

    @Test("A response can precede the body of its request")
    func earlyResponse() throws {
        // Without a window the client has sent only headers.
        let provider = try Provider(
            script: """
                set window 0
                set streams-before-token 10
                token 01*, attempt 1: early, 413 PayloadTooLarge
                token 01*: 500 InternalServerError
                token 02*: early, 400 BadTopic then=NO_ERROR
                """)
        let early = try provider.send(token: "01")
        #expect(provider.reason(early) == "413 {\"reason\":\"PayloadTooLarge\"}")
        // The incomplete request has no further response.
        #expect(provider.context.ledger.statistics.requests == 1)
        #expect(provider.context.ledger.statistics.responses == [413: 1])
        let again = try provider.send(token: "01")
        #expect(provider.responses[again] == nil)
        #expect(provider.status(try provider.send(token: "02")) == 400)
    }

    @Test("A request that was answered early is not handled again when its body arrives")
    func earlyResponseWithBody() throws {
        let provider = try Provider(script: "token 01*: early, 413 PayloadTooLarge")
        #expect(provider.status(try provider.send(token: "01")) == 413)
        #expect(provider.status(try provider.send()) == 200)
        #expect(provider.context.ledger.statistics.requests == 2)
        #expect(provider.context.ledger.statistics.responses == [413: 1, 200: 1])
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

    @Test("Any number of PINGs can be sent")
    func pings() throws {
        let provider = try Provider(script: "token 01*: ping 100")
        try provider.send(token: "01")
        #expect(provider.context.ledger.statistics.pongs == 100)
        #expect(provider.status(try provider.send()) == 200)
    }

    @Test("A header table can be of any size, and frames can be larger", arguments: [0, 4096, 65536])
    func sizes(table: Int) throws {
        let provider = try Provider(
            script: "set table \(table)\ntoken 01*: settings table=0 frame=65536\ntoken 02*: settings table=65536")
        for token in ["00", "01", "00", "02", "00"] {
            #expect(provider.status(try provider.send(token: token)) == 200)
        }
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

extension Provider {
    fileprivate func header(_ name: String, of handle: Handle) -> String? {
        responses[handle]?.headers.first { $0.nameText == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
}
