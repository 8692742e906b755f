import Core
import SwiftProtobuf
import TestSupport
import Testing
import XorcMessages

@testable import Bridge

@Suite("The decoder xorc")
struct XorcDecoderTests {
    @Test("A correlation id that is a UUID is the apns-id, and any is the request's key")
    func correlation() throws {
        let uuid = try DecoderSample(bytes: XorcSamples.localized, decoder: "xorc").request()
        #expect(uuid.notifications[0].id == NotificationID("123e4567-e89b-12d3-a456-426655440000"))
        #expect(string(uuid.key) == "123e4567-e89b-12d3-a456-426655440000")
        let other = try DecoderSample(bytes: XorcSamples.plain, decoder: "xorc").request()
        #expect(other.notifications[0].id == nil && string(other.key) == "job-1")
        let none = try DecoderSample(xorc: XorcSamples.push("apple { plain: 'x' }")).request()
        #expect(none.notifications[0].id == nil && none.key == nil)
    }

    @Test("Of the context, the headers of a trace are the request's")
    func context() throws {
        let request = try DecoderSample(bytes: XorcSamples.localized, decoder: "xorc").request()
        #expect(request.headers.map(\.name) == ["traceparent"])
        #expect(string(request.headers[0].text) == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        #expect(try DecoderSample(bytes: XorcSamples.plain, decoder: "xorc").request().headers.isEmpty)
    }

    @Test("Headers of the request's own stand behind the delivery's, which win")
    func headers() {
        let sample = DecoderSample("body", decoder: "xorc", headers: [("traceparent", .text("outer"))])
        let own = sample.delivery
        let both = own.adding([("traceparent", [0x69][...]), ("tracestate", Array("s=1".utf8)[...])])
        #expect(both.headerCount == 2 && both.header("traceparent") == .text(Array("outer".utf8)[...]))
        #expect(both.header("tracestate") == .text(Array("s=1".utf8)[...]))
        #expect(string(both.body) == "body" && both.tag == own.tag && both.epoch == own.epoch)
        #expect(own.adding([("traceparent", [0x69][...])]).storage == own.storage)
    }

    @Test("The universes are checked, and each stands once")
    func options() {
        #expect(DecoderSample.problems(XorcSamples.universes) == [])
        let wrong = """
              - name: x
                xorc:
                  universes:
                    - { name: shop, apns-topic: a }
                    - { name: shop, apns-topic: b, environment: sandbox }
                    - { name: bank }
            """
        let problems = DecoderSample.problems(wrong)
        #expect(problems.count == 3, "\(problems)")
        for (path, words) in [
            ("f:8:19: decoders[0].xorc.universes[1].name", "\"shop\" stands above already"),
            ("f:8:53: decoders[0].xorc.universes[1].environment", "sandbox"),
            ("decoders[0].xorc.universes[2]", "apns-topic"),
        ] {
            #expect(problems.contains { $0.contains(path) && $0.contains(words) }, "\(path): \(problems)")
        }
    }

    @Test("Groups within each other end at the limit, however many there are")
    func depth() throws {
        func nested(_ levels: Int) -> DecoderSample {
            // Field 15, which nobody knows, begins and ends as a group.
            let push = DecoderSample(xorc: XorcSamples.push("apple { plain: 'x' }")).body
            let body = push + Array(repeating: 0x7B, count: levels) + Array(repeating: 0x7C, count: levels)
            return DecoderSample(bytes: body, decoder: "xorc")
        }
        _ = try nested(XorcPushNotification.maximumDepth - 1).request()
        let complaint = "body: not protobuf: more than 16 messages around a field"
        #expect(try nested(XorcPushNotification.maximumDepth + 1).complaint() == complaint)
        #expect(try nested(100_000).complaint() == complaint)
    }

    @Test("Custom data may have as many brackets around a value as all JSON, with the payload's own")
    func customData() throws {
        func sample(_ brackets: Int) -> DecoderSample {
            let json = String(repeating: "[", count: brackets) + String(repeating: "]", count: brackets)
            return DecoderSample(xorc: XorcSamples.push("apple { custom_data { key: 'k' body: '\(json)' } }"))
        }
        _ = try sample(JSONScanner.maximumDepth - 1).request()
        guard case .reject(let failure) = try sample(JSONScanner.maximumDepth).decoded() else {
            Issue.record("expected it to be refused")
            return
        }
        #expect(failure.limit == .depth && failure.detail.hasPrefix("apple.custom_data.body: not JSON"))
    }

    @Test("A message that comes in parts is put together")
    func merged() throws {
        let first = DecoderSample(xorc: XorcSamples.push("apple { plain: 'a' badge: 1 }")).body
        let sample = DecoderSample(bytes: try first + Self.bytes("apple { sound: 's' }"), decoder: "xorc")
        #expect(try string(sample.notification().payload) == #"{"aps":{"alert":"a","badge":1,"sound":"s"}}"#)
    }

    /// What a part costs must not depend on how many were before: 37,000 that are copied each time take a minute.
    @Test("As many parts as a body has room for are put together in no time", arguments: [false, true])
    func parts(ofTheHeader: Bool) throws {
        var body = DecoderSample(xorc: XorcSamples.push("apple { localized { title: 't' body: 'b' } }")).body
        // Of the header, a text that nobody knows.
        let part = try ofTheHeader ? [0x0A, 3, 0x4A, 1, 0x78] : Self.bytes("apple { localized { loc_args: 'x' } }")
        while body.count + part.count <= 262_144 { body += part }
        let sample = DecoderSample(bytes: body, decoder: "xorc")
        let decoder = try #require(try DecoderSample.set("")["xorc"])
        let delivery = sample.delivery
        let time = ContinuousClock().measure {
            _ = decoder.decode(delivery, at: DecoderSample.now)
            _ = XorcResult.bytes(Report(outcome: .accepted), of: delivery)
        }
        #expect(time < .seconds(10))
        let complaint = try sample.complaint()
        #expect(ofTheHeader ? complaint.isEmpty : complaint.hasSuffix("expected at most 4096 for alert"))
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        try XorcPushNotification(textFormatString: text).serializedBytes()
    }

    @Test("An event may carry it, in base64")
    func event() throws {
        let data = Base64.standard.encode(XorcSamples.plain)
        let sample = DecoderSample(
            #"{"specversion":"1.0","id":"7","source":"/s","type":"t","data_base64":"\#(data)"}"#, decoder: "e",
            decoders: "  - name: e\n    cloudevents: { decoder: xorc }")
        #expect(try string(sample.notification().payload) == #"{"aps":{"alert":"Hello","badge":0}}"#)
    }

    @Test("The example of its page becomes what the page says")
    func page() throws {
        let page = try DocumentationPage("decoders/xorc.md").text
        func block(_ kind: String) throws -> String {
            let start = try #require(page.firstRange(of: "```\(kind)\n"))
            let rest = page[start.upperBound...]
            return String(rest[..<(try #require(rest.firstRange(of: "\n```"))).lowerBound])
        }
        let text = try block("textproto")
        let base64 = try #require(try block("sh").split(separator: "'").dropFirst().first).filter { !$0.isWhitespace }
        let body: [UInt8] = try XorcPushNotification(textFormatString: text).serializedBytes()
        #expect(Base64.standard.encode(body) == base64)
        let notification = try DecoderSample(bytes: body, decoder: "xorc").notification()
        #expect(string(notification.payload) == (try block("json")))
        #expect(notification.priority == .immediate && string(notification.topic) == "com.example.app")
    }
}
