import Core
import Foundation
import TestSupport
import Testing

@testable import HTTP2

@Suite("A request and its response")
struct ExchangeTests {
    @Test("arrive unchanged, whether HEADERS or DATA end them")
    func roundTrip() throws {
        let pair = try Pair()
        try pair.post(7, body: payload(120))
        try pair.post(8)
        try pair.settle()
        // HEADERS are sent before DATA, so the second request is complete first.
        let requests = Array(pair.requests().reversed())
        #expect(requests.map(\.request.body) == [payload(120), []])
        #expect(
            requests[0].request.headers.map(\.nameText) == [
                ":method", ":scheme", ":authority", ":path", "authorization", "apns-topic", "apns-id",
            ])
        #expect(requests.map(\.stream) == [1, 3] && !requests[0].request.hasPriority)
        #expect(pair.client.openStreams == 2 && pair.server.openStreams == 2)

        try pair.server.respond(stream: 1, status: 200)
        try pair.server.respond(stream: 3, status: 400, headers: [.init("apns-id", "x")], body: Array("{}"))
        #expect(try pair.step() && !pair.step(), "a complete response is not answered")
        let endings = pair.endings()
        #expect(endings.map(\.handle) == [7, 8] && endings.map(\.response?.status) == [200, 400])
        #expect(endings.map(\.response?.body) == [[], Array("{}")])
        #expect(endings[1].response?.headers == [] && endings[1].response?.bodyTruncated == false)
        #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
    }

    @Test("survive any splitting of the bytes", arguments: [1, 2, 3, 7, 9, 10, 64, 1000])
    func splitAnywhere(chunk: Int) throws {
        let pair = try Pair(client: { $0.wantedHeaders = ["apns-id", "apns-unique-id"] })
        pair.chunk = chunk
        for handle in 0..<5 { try pair.post(Handle(handle), body: payload(700 * handle)) }
        try pair.settle()
        let requests = pair.requests()
        // The second is longer than the first memory of a message's text, and moves the first.
        let ids = [HTTP2Header("apns-id", "1"), HTTP2Header("apns-unique-id", String(repeating: "x", count: 1200))]
        #expect(requests.map(\.request.body.count) == [0, 700, 1400, 2100, 2800])
        for (stream, request) in requests {
            try pair.server.respond(
                stream: stream, status: 410, headers: ids + [.init("server", "s")], body: request.body)
        }
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.map { $0.response?.body.count } == [0, 700, 1400, 2100, 2800])
        #expect(endings.allSatisfy { $0.response?.headers == ids })
    }

    @Test("keep a path of two parts where the text moves to larger memory between them")
    func movingPath() throws {
        let pair = try Pair()
        pair.client.beginRequest(path: "")
        // The first memory of a message's text has room for this and the prefix.
        pair.client.fields.add("authorization", Array(String(repeating: "x", count: 1010).utf8).span)
        pair.client.fields.keep()
        let token = Array(String(repeating: "abc", count: 4917).utf8)
        pair.client.fields.replaceValue(at: 3, "/3/device/", token.span)
        _ = try pair.client.submit(body: nil, handle: 1)
        try pair.settle()
        let headers = try #require(pair.requests().first).request.headers
        #expect(headers.value(of: ":path")?.text == "/3/device/" + token.text)
        #expect(headers.value(of: "authorization")?.count == 1010)
        pair.client.fields.removeAdded()
        pair.client.fields.replaceValue(at: 3, payload(14_762).span)
        #expect(throws: HTTP2Error.self, "one byte more than 16,000") { try pair.client.submit(body: nil, handle: 2) }
    }

    @Test("are matched when responses come out of order")
    func outOfOrder() throws {
        let pair = try Pair()
        for handle in 0..<50 { try pair.post(Handle(handle + 100), body: [UInt8(handle)]) }
        try pair.settle()
        for (stream, request) in pair.requests().reversed() {
            try pair.server.respond(stream: stream, status: 200, body: request.body)
        }
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.map(\.handle) == (100..<150).reversed().map { Handle($0) })
        #expect(endings.allSatisfy { $0.response?.body == [UInt8($0.handle.index - 100)] })
    }

    @Test("ignore interim responses and trailers")
    func interimAndTrailers() throws {
        let pair = try Pair(client: { $0.wantedHeaders = ["apns-id"] })
        try pair.send(1)
        try pair.server.inform(stream: 1, status: 199, headers: [.init("apns-id", "interim")])
        try pair.settle()
        #expect(pair.endings().isEmpty)
        try pair.server.inform(stream: 1, status: 103)
        var response = HTTP2ServerResponse(status: 404, headers: [.init("apns-id", "final")], body: payload(10))
        response.largestFrame = 3
        response.staysOpen = true
        try pair.server.respond(stream: 1, response)
        try pair.settle()
        #expect(pair.endings().isEmpty)
        // A literal without indexing, with END_STREAM and END_HEADERS.
        let trailers = [0, 7] + Array("apns-id") + [7] + Array("trailer")
        try pair.client.receive(frame(type: 1, flags: 0x5, stream: 1, trailers).span)
        let endings = pair.endings()
        #expect(endings.map(\.response?.status) == [404])
        #expect(endings.first?.response?.headers == [.init("apns-id", "final")])
        #expect(endings.first?.response?.body == payload(10))
    }

    @Test("end when the response comes before the whole request was sent")
    func earlyResponse() throws {
        let pair = try Pair.settled(server: { $0.initial[.initialWindow] = 10 })
        // The server refills the window as it receives, so it must respond before that.
        try pair.server.raw.submitSettings([.initialWindow: 0])
        try pair.settle()
        try pair.send(1, body: payload(5000))
        #expect(pair.client.openStreams == 1)
        try pair.server.respond(stream: 1, status: 413, body: Array("{\"reason\":\"PayloadTooLarge\"}"))
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.map(\.response?.status) == [413])
        #expect(endings.map(\.response?.body) == [Array("{\"reason\":\"PayloadTooLarge\"}")])
        #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
    }

    @Test("count even if the stream is reset after the response but before the end of the request")
    func resetAfterResponse() throws {
        let pair = try Pair.settled(server: { $0.initial[.initialWindow] = 0 })
        try pair.send(1, body: payload(100))
        try pair.server.respond(stream: 1, status: 200)
        var bytes = ByteQueue()
        try pair.server.drain(into: &bytes)
        try pair.server.reset(stream: 1, code: .noError)
        try pair.server.drain(into: &bytes)
        try bytes.withBytes { try pair.client.receive($0) }
        try pair.settle()
        #expect(pair.endings().map(\.response?.status) == [200])
    }

    @Test("may be far larger than the part that is kept")
    func boundedBody() throws {
        let pair = try Pair(client: { $0.connectionWindow = 65_535 })
        try pair.send(1, body: payload(200_000))
        let requests = pair.requests()
        #expect(requests[0].request.body == Array(payload(200_000)[..<65_536]))
        // The limits of what is kept and of what is discarded.
        var response = HTTP2ServerResponse(status: 200, body: payload(16_384) + [UInt8](repeating: 0, count: 1 << 20))
        response.largestFrame = 5000
        try pair.server.respond(stream: 1, response)
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.first?.response?.bodyTruncated == true)
        #expect(endings.first?.response?.body == payload(16_384))
    }

    @Test("are cut off when the body never ends")
    func endlessBody() throws {
        let pair = try Pair()
        try pair.send(1)
        var response = HTTP2ServerResponse(status: 200, body: [UInt8](repeating: 0x20, count: 16_385 + 1 << 20))
        response.staysOpen = true
        try pair.server.respond(stream: 1, response)
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.map(\.code) == [.enhanceYourCalm] && endings.map(\.status) == [200])
        #expect(pair.server.openStreams == 0)
    }

    @Test("are reset only when the wanted headers are too large", arguments: [440, 441] as [UInt32])
    func boundedHeaders(limit: UInt32) throws {
        let pair = try Pair(client: {
            $0.wantedHeaders = ["apns-id"]
            $0.maximumHeaderList = limit
        })
        try pair.send(1)
        try pair.server.respond(
            stream: 1, status: 200, headers: Array(repeating: .init("apns-id", "0123456789"), count: 9))
        try pair.settle()
        let code: HTTP2ErrorCode? = limit < 441 ? .internalError : nil
        #expect(pair.endings().map(\.code) == [code], "the nine fields have 441 bytes")
    }

    @Test("give back the memory of their header fields and buffers")
    func memory() throws {
        func pages() throws -> Int {
            try Int(String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]) ?? 0
        }
        let long = HTTP2Header("name", String(repeating: "a", count: 2000))
        func keeps() throws -> Bool {
            let before = try pages()
            for _ in 0..<100_000 {
                var fields = HeaderFields()
                fields.add(long)
                var buffer = ByteQueue(minimumCapacity: 2000)
                for _ in 0..<2 { buffer.append(long.value) }
            }
            return try pages() - before > 10_000
        }
        #expect(try (0..<9).contains { _ in try !keeps() }, "other tests allocate as well, but not in every round")
    }
}
