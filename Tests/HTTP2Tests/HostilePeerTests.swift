import Core
import HTTP2
import TestSupport
import Testing

@Suite("A hostile peer")
struct HostilePeerTests {
    @Test("cannot make the client pile up acknowledgements", arguments: [4, 6] as [UInt8])
    func floods(type: UInt8) throws {
        var client = try HTTP2ClientSession()
        try client.receive(frame(type: 4).span)
        let flood = (0..<2000).flatMap { _ in frame(type: type, type == 6 ? [1, 2, 3, 4, 5, 6, 7, 8] : []) }
        let error = #expect(throws: HTTP2Error.self) { try client.receive(flood.span) }
        #expect(error?.code == .flooded && error?.isTransient == true)
    }

    @Test("receives the client's limits, and GOAWAY with the reason when it breaks the protocol; the owner is notified")
    func protocolError() throws {
        var client = try HTTP2ClientSession()
        var output = ByteQueue()
        try client.drain(into: &output)
        // Behind the preface: no push, the windows of a stream and of the connection, and the size of a header list.
        let settings = frame(type: 4, [0, 2, 0, 0, 0, 0, 0, 4, 0, 0, 0xFF, 0xFF, 0, 6, 0, 0, 0x40, 0])
        #expect(Array(output.copy().dropFirst(24)) == settings + frame(type: 8, [0, 0x0F, 0, 1]))
        try client.receive(frame(type: 4).span)
        try client.drain(into: &output)
        output.removeAll()
        try client.receive(frame(type: 4, stream: 1).span)
        let error = #expect(throws: HTTP2Error.self) { try client.drain(into: &output) }
        #expect(error?.code.rawValue == "PROTOCOL_ERROR")
        #expect(error?.description.contains("SETTINGS: stream_id != 0") == true)
        #expect(output.copy()[3] == 7)
        #expect(!client.wantsRead && !client.wantsWrite)
        client.fields.removeAll()
        let refusal = #expect(throws: HTTP2Error.self) { _ = try client.submit(body: nil, handle: 1) }
        #expect(refusal?.code == .startStreamNotAllowed)
    }

    @Test("that does not speak HTTP/2 is recognised by its first bytes")
    func wrongProtocol() throws {
        var client = try HTTP2ClientSession()
        try client.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n").span)
        var output = ByteQueue()
        let error = #expect(throws: HTTP2Error.self) { try client.drain(into: &output) }
        #expect(error?.code.rawValue == "PROTOCOL_ERROR")

        let server = try HTTP2ServerSession()
        let refusal = #expect(throws: HTTP2Error.self) {
            try server.receive(Array("POST /3/device/0 HTTP/1.1\r\n\r\n").span)
        }
        #expect(refusal?.code == .badClientMagic)
    }

    @Test("is recognised by a server that has announced its end as well")
    func afterNotice() throws {
        let server = try HTTP2ServerSession()
        try server.receive((Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + frame(type: 4)).span)
        try server.goaway(lastStreamID: .max)
        var output = ByteQueue()
        try server.drain(into: &output)
        let block: [UInt8] = [0x82, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        try server.receive(frame(type: 1, flags: 0x5, stream: 1, block).span)
        let lengths: [Int] = Array(sequence(state: server) { $0.nextEvent() }).compactMap { event in
            if case .request(1, let request) = event { request.headerBlockLength } else { nil }
        }
        #expect(lengths == [block.count])
        try server.receive(frame(type: 4, stream: 1).span)
        let error = #expect(throws: HTTP2Error.self) { try server.drain(into: &output) }
        #expect(error?.code.rawValue == "PROTOCOL_ERROR")
    }

    @Test("may send long debug data, of which a part is kept")
    func debugData() throws {
        let pair = try Pair.settled()
        try pair.server.goaway(code: .enhanceYourCalm, debugData: payload(16_000))
        try pair.settle()
        let debugData = pair.clientEvents().compactMap { event in
            if case .goaway(_, .enhanceYourCalm, let data) = event { data } else { nil }
        }
        #expect(debugData == [Array(payload(16_000)[..<4096])])
    }

    @Test("that sends PRIORITY is recorded")
    func priority() throws {
        let server = try HTTP2ServerSession()
        try server.receive((Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + frame(type: 4)).span)
        try server.receive(frame(type: 2, stream: 3, [0, 0, 0, 0, 15]).span)
        // ":method GET", ":scheme https", ":path /" from the static table and ":authority a", behind padding and
        // priority fields; then trailers without them.
        let block: [UInt8] = [0x82, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        try server.receive(frame(type: 1, flags: 0x2c, stream: 5, [2, 0, 0, 0, 3, 7] + block + [0, 0]).span)
        try server.receive(frame(type: 1, flags: 0x5, stream: 5, [0, 1, UInt8(ascii: "t"), 0]).span)
        let events = Array(sequence(state: server) { $0.nextEvent() })
        #expect(events.contains { if case .priorityFrame(stream: 3) = $0 { true } else { false } })
        let request = events.compactMap { event in
            if case .request(5, let request) = event { request } else { nil }
        }
        .first
        #expect(request?.hasPriority == true)
        #expect(request?.headerBlockLength == block.count && request?.headers.count == 4, "no trailers")
    }
}
