import Core
import HTTP2
import TestSupport
import Testing

@testable import Simulator

@Suite("The simulator's observer")
struct ObserverTests {
    private let observer = RecordedLedger()

    private func provider(_ script: String = "") throws -> Provider {
        let context = try Provider.context(script)
        context.observer = observer
        return try Provider(context)
    }

    @Test("It gets every request with payload, response and time")
    func accepted() throws {
        let provider = try provider()
        try provider.advance(by: .seconds(2))
        try provider.send()
        #expect(observer.records.map(\.ending) == [.responded(200, reason: nil)])
        #expect(observer.records[0].payload == Samples.payload)
        #expect(observer.records[0].cause == nil)
        #expect(observer.times == [Samples.moment(.seconds(2)).wall])
    }

    @Test(
        "Each refusal has its exact cause",
        arguments: [
            (["apns-topic": nil], "apns-topic is missing"),
            (
                ["apns-topic": "com.example.MyApp.voip"],
                #"apns-topic is "com.example.MyApp.voip", which has the suffix"#
            ),
            (["apns-push-type": "voip"], #"apns-topic is "com.example.MyApp"; a topic of voip ends with .voip"#),
            (["apns-push-type": "loud"], #"apns-push-type is "loud", not one of Apple's"#),
            (["apns-priority": "7"], #"apns-priority is "7"; allowed: 10, 5, 1"#),
            (["apns-push-type": "background"], #"apns-priority is "10"; allowed: 5"#),
            (["apns-expiration": "soon"], #"apns-expiration is "soon", not seconds since 1970"#),
            (["apns-id": "7"], #"apns-id is "7", not a UUID in lower case"#),
            (["apns-collapse-id": String(repeating: "x", count: 65)], "apns-collapse-id has 65 bytes; at most 64"),
            ([":path": "/3/device/00f"], "the device token is not an even number of hexadecimal digits"),
            ([":path": "/3/devices/00ff"], "the path is none of /3/device/TOKEN"),
            ([":method": "PUT"], #"the method is "PUT", not POST"#),
            (["authorization": nil], "authorization is missing"),
        ] as [([String: String?], String)])
    func refused(changes: [String: String?], cause: String) throws {
        try provider().send(changes)
        let found = try #require(observer.records.first?.cause)
        #expect(found.hasPrefix(cause), "\(found)")
    }

    @Test(
        "Each refused payload has its exact cause",
        arguments: [
            ("", "there is no payload"), ("[]", "the payload is not a JSON object"),
            ("{\"a\":1}", "the payload has no aps dictionary"),
            (
                "{\"aps\":\"\(String(repeating: "x", count: 4096))\"}",
                "the payload has 4106 bytes; at most 4096 are allowed"
            ),
        ])
    func refusedPayload(payload: String, cause: String) throws {
        try provider().send([:], Array(payload.utf8))
        #expect(observer.records.map(\.cause) == [cause])
    }

    @Test("An outcome that the script or a built-in device token chose names it")
    func chosen() throws {
        let provider = try provider("type voip: 200\ntoken 01*: 503 ServiceUnavailable\n")
        for token in ["01aa", "dead00", "deaf00", "00aa"] { try provider.send(token: token) }
        #expect(
            observer.records.map(\.cause) == [
                "rule 2 of the script", "the device token begins with dead", "the device token begins with deaf", nil,
            ])
    }

    @Test("It is notified of a connection's failure")
    func failure() throws {
        let context = try Provider.context()
        context.observer = observer
        let engine = try context.makeEngine()
        engine.transportOpened(at: Samples.start.instant)
        let plaintext = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        engine.receive(plaintext.span, at: Samples.start.instant)
        #expect(observer.failures.count == 1)
        #expect(observer.failures.first?.hasPrefix("connection 1: ") == true)
    }
}
