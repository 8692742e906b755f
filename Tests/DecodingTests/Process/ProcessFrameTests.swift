import AMQP
import Core
import TestSupport
import Testing

@testable import Decoding

@Suite("Frames of the protocol with decoder programs")
struct ProcessFrameTests {
    @Test("A frame has its length, the time in seconds, and all that a message says and JSON has")
    func golden() throws {
        let table: FieldTable = [
            "t": .void, "h": .int32(7), "n": .double(.nan), "i": .string("x"), "b": .boolean(true),
        ]
        let delivery = try DeadLetterSamples.delivery(table, body: "{\"a\":1}") { $0.timestamp = 1_795_300_000_999 }
        var frame = ProcessFrame.beginMessages(at: WallTime(milliseconds: 1_790_000_000_999))
        ProcessFrame.append(DecoderSample(bytes: [0xFF], decoder: "auto").delivery, number: 2, to: &frame)
        ProcessFrame.append(delivery, number: 3, to: &frame)
        ProcessFrame.append(try DeadLetterSamples.delivery([:]), number: 4, to: &frame)
        ProcessFrame.endMessages(&frame)
        let text = String(decoding: frame.dropFirst(4), as: UTF8.self)
        #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == text.utf8.count)
        #expect(text.hasPrefix(#"{"now":1790000000,"messages":[{"id":2,"body-base64":"/w==","#))
        #expect(text.contains(#"},{"id":3,"body":"{\"a\":1}","message-id":"m-1","#))
        #expect(text.contains(#""timestamp":1795300000,"redelivered":false,"headers":{"h":7,"i":"x","b":true}},{"id"#))
        #expect(text.hasSuffix(#","redelivered":false}]}"#))
        var large = ProcessFrame.beginMessages(at: WallTime(milliseconds: 0)) + [UInt8](repeating: 0x20, count: 1 << 24)
        ProcessFrame.endMessages(&large)
        #expect(large.prefix(4).reduce(0) { $0 << 8 | Int($1) } == large.count - 4)
    }

    /// The events of what a program writes.
    private static func events(_ output: String) -> [ProcessConversation.Event] {
        let conversation = ProcessConversation()
        let bytes = Array(output.utf8)
        conversation.receive(bytes.span, at: Instant(nanoseconds: 0))
        var events: [ProcessConversation.Event] = []
        while let event = conversation.nextEvent() { events.append(event) }
        return events
    }

    @Test(
        "A print to standard output is recognised as text",
        arguments: ["hello\n", "Starting", "42 \n\n", "ok\r\n", "id\tname\n"])
    func text(output: String) {
        guard case .violation(let reason)? = Self.events(output).first else {
            Issue.record("expected text")
            return
        }
        #expect(reason.hasPrefix("it wrote the text \"\(output.prefix(2))"))
    }

    @Test("A line of its errors is cut at the limit, and the last one needs no end; a frame may have 4 MiB")
    func longLine() {
        let conversation = ProcessConversation()
        let bytes = Array((String(repeating: "x", count: 1000) + "\nnext").utf8)
        conversation.complained(bytes.span, at: Instant(nanoseconds: 0))
        conversation.transportClosed(nil, at: Instant(nanoseconds: 0))
        guard case .line(let long)? = conversation.nextEvent(), case .line(let next)? = conversation.nextEvent() else {
            Issue.record("expected two lines")
            return
        }
        #expect(long.utf8.count == 500 && next == "next")
        #expect(Self.events("\0@\0\0").isEmpty && Self.events("\0@\0\u{1}").count == 1)
    }

    @Test("Harebell says hello first, with its protocol and version")
    func hello() {
        var output = ByteQueue()
        ProcessConversation().drain(into: &output)
        let content = #"{"hello":{"protocol":1,"harebell":"\#(Version.text)"}}"#
        #expect(output.copy() == [0, 0, 0, UInt8(content.utf8.count)] + Array(content.utf8))
    }

    @Test("A message is asked about again after a second at the earliest; a rejection keeps its key and 500 bytes")
    func responses() throws {
        let later = ProcessResponse.decoded(try JSONPart(Array(#"{"later":0}"#.utf8)[...]))
        #expect(later.pause == .seconds(1))
        let reason = String(repeating: "x", count: 500)
        let reject = ProcessResponse.decoded(try JSONPart(Array(#"{"reject":"\#(reason)x","key":"k"}"#.utf8)[...]))
        #expect(reject.failure?.detail == reason && string(reject.failure?.key) == "k")
    }
}
