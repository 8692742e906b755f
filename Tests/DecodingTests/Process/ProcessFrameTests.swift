import AMQP
import Core
import TestSupport
import Testing

@testable import Decoding

@Suite("Frames of the protocol with decoder programs")
struct ProcessFrameTests {
    @Test("A frame has its length, the time in seconds, and all that a message says and JSON has")
    func golden() throws {
        let headers: FieldTable = ["t": .array([]), "h": .int32(7), "n": .double(.nan), "i": .string("x")]
        let delivery = try DeadLetterSamples.delivery(headers, body: "{\"a\":1}") { $0.timestamp = 1_795_300_000_999 }
        var frame = ProcessFrame.beginMessages(at: WallTime(milliseconds: 1_790_000_000_999))
        ProcessFrame.append(DecoderSample(bytes: [0xFF], decoder: "auto").delivery, number: 2, to: &frame)
        ProcessFrame.append(delivery, number: 3, to: &frame)
        ProcessFrame.append(try DeadLetterSamples.delivery([:]), number: 4, to: &frame)
        ProcessFrame.endMessages(&frame)
        let text = String(decoding: frame.dropFirst(4), as: UTF8.self)
        #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == text.utf8.count)
        #expect(text.hasPrefix(#"{"now":1790000000,"messages":[{"id":2,"body-base64":"/w==","#))
        #expect(text.contains(#"},{"id":3,"body":"{\"a\":1}","message-id":"m-1","#))
        #expect(text.contains(#","timestamp":1795300000,"redelivered":false,"headers":{"h":7,"i":"x"}},{"id":4,"#))
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

    @Test("A line of its errors is cut at the limit, and the next one is whole; a frame may have 4 MiB")
    func longLine() {
        let conversation = ProcessConversation()
        let bytes = Array((String(repeating: "x", count: 1000) + "\nnext\n").utf8)
        conversation.complained(bytes.span, at: Instant(nanoseconds: 0))
        guard case .line(let long)? = conversation.nextEvent(), case .line(let next)? = conversation.nextEvent() else {
            Issue.record("expected two lines")
            return
        }
        #expect(long.utf8.count == 500 && next == "next")
        #expect(Self.events("\0@\0\0").isEmpty)
    }

    @Test("A program that asks to be asked again at once is asked after a second")
    func later() throws {
        let response = ProcessResponse.decoded(try JSONPart(Array(#"{"later":0}"#.utf8)[...]))
        #expect(response.pause == .seconds(1))
    }

    @Test("What a program rejects keeps its key")
    func key() throws {
        let response = ProcessResponse.decoded(try JSONPart(Array(#"{"reject":"no user","key":"k"}"#.utf8)[...]))
        #expect(string(response.failure?.key) == "k")
    }
}
