import CNghttp2
import Core
import TestSupport
import Testing

@testable import HTTP2

@Suite("The peer's SETTINGS")
struct SettingsTests {
    @Test("make streams wait, whenever the limit changes")
    func concurrency() throws {
        let pair = try Pair.settled(server: { $0.initial.maxConcurrentStreams = 1 })
        #expect(pair.client.remoteMaxConcurrentStreams == 1)
        for handle in 0..<10 { try pair.post(Handle(handle)) }
        try pair.settle()
        #expect(pair.server.openStreams == 1)

        try pair.server.updateSettings(.init(maxConcurrentStreams: 0))
        try pair.server.respond(stream: 1, status: 200)
        try pair.settle()
        #expect(pair.client.remoteMaxConcurrentStreams == 0)
        #expect(pair.server.openStreams == 0 && pair.client.openStreams == 9)

        try pair.server.updateSettings(.init(maxConcurrentStreams: 1000))
        try pair.settle()
        #expect(pair.server.openStreams == 9)
        let changes = pair.clientEvents().filter { if case .settings = $0 { true } else { false } }
        #expect(changes.count == 3)
    }

    @Test("that reduce the limit end requests in flight as REFUSED_STREAM")
    func lateLimit() throws {
        let pair = try Pair.settled()
        for handle in 0..<3 { try pair.post(Handle(handle)) }
        try pair.server.updateSettings(.init(maxConcurrentStreams: 1))
        try pair.settle()
        let endings = pair.endings()
        #expect(endings.map(\.code) == [.refusedStream, .refusedStream])
        #expect(pair.requests().map(\.stream) == [1])
    }

    @Test("control HPACK's table", arguments: [0, 4096, 65_536] as [UInt32])
    func headerTable(size: UInt32) throws {
        let pair = try Pair.settled(server: { $0.initial.headerTableSize = size })
        try pair.post(1)
        try pair.settle()
        try pair.post(2)
        try pair.settle()
        let requests = pair.requests()
        let representations = requests.map { pair.headerBlocks.representations(of: $0.request, on: $0.stream) }
        for request in representations {
            #expect(request[":method"] == .indexed)
            #expect(request[":path"] == .withoutIndexing)
            #expect(request["authorization"] == .neverIndexed)
            #expect(request["apns-id"] == .neverIndexed)
        }
        #expect(representations[0]["apns-topic"] == (size == 0 ? .withoutIndexing : .incrementalIndexing))
        #expect(representations[1]["apns-topic"] == (size == 0 ? .withoutIndexing : .indexed))
        #expect((pair.server.headerTableSize == 0) == (size == 0))
        #expect(pair.server.headerTableSize <= 4096)
        #expect(size == 0 || requests[1].request.headerBlockLength < requests[0].request.headerBlockLength)

        // The table may change its size at any time.
        try pair.server.updateSettings(.init(headerTableSize: 4096 - min(size, 4096)))
        try pair.settle()
        try pair.post(3)
        try pair.settle()
        #expect(pair.requests().first?.request.headers == requests[0].request.headers)
    }

    @Test("may allow larger frames")
    func frameSize() throws {
        let pair = try Pair.settled(server: { $0.initial.maxFrameSize = 16_777_215 })
        try pair.post(1, body: payload(60_000))
        try pair.server.updateSettings(.init(maxFrameSize: 16_384))
        try pair.settle()
        #expect(pair.requests().map(\.request.body) == [payload(60_000)])
    }

    @Test("do not let a header block grow without end")
    func headerLimits() throws {
        let pair = try Pair(server: { $0.maximumHeaderList = 500 })
        try pair.post(1, path: String(repeating: "x", count: 1000))
        try pair.post(2)
        try pair.settle()
        #expect(pair.requests().map(\.stream) == [3])
        #expect(pair.endings().map(\.code) == [.internalError])
        let error = #expect(throws: HTTP2Error.self) { try pair.post(3, path: String(repeating: "x", count: 70_000)) }
        #expect(error?.code == .frameSizeError && error?.isTransient == false)
        #expect(pair.client.openStreams == 1)
        try pair.post(4, path: "/next")
        try pair.settle()
        #expect(
            pair.requests().map { $0.request.headers.value(of: ":path")?.text } == ["/next"], "and nothing of the third"
        )
    }

    @Test("A table that the peer shrinks and enlarges in one frame is empty")
    func emptied() throws {
        let pair = try Pair()
        try pair.post(1)
        try pair.settle()
        try pair.server.raw.submitSettings([
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0), (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096),
        ])
        try pair.settle()
        for handle in 2...3 {
            try pair.post(Handle(handle))
            try pair.settle()
        }
        let requests = pair.requests()
        #expect(requests.count == 3 && Set(requests.map(\.request.headers)).count == 1)
        let topic = requests.map {
            pair.headerBlocks.representations(of: $0.request, on: $0.stream)["apns-topic"]
        }
        #expect(topic == [.incrementalIndexing, .incrementalIndexing, .indexed])
    }
}
