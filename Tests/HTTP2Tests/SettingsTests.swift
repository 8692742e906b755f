import Core
import TestSupport
import Testing

@testable import HTTP2

@Suite("The peer's SETTINGS")
struct SettingsTests {
    @Test("control HPACK's table", arguments: [0, 4096, 65_536] as [UInt32])
    func headerTable(size: UInt32) throws {
        let pair = try Pair.settled(server: { $0.initial[.headerTableSize] = size })
        try pair.send(1)
        try pair.send(2)
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
        try pair.server.raw.submitSettings([.headerTableSize: 4096 - min(size, 4096)])
        try pair.settle()
        try pair.send(3)
        #expect(pair.requests().first?.request.headers == requests[0].request.headers)
    }

    @Test("do not let a header block grow without end")
    func headerLimits() throws {
        // As many bytes as the second request has.
        let pair = try Pair(server: { $0.maximumHeaderList = 382 })
        try pair.post(1, path: "/3/device/00fc13adff785122b4ad28809a3420981")
        try pair.post(2)
        try pair.settle()
        #expect(pair.requests().map(\.stream) == [3])
        #expect(pair.endings().map(\.code) == [.internalError])
        let error = #expect(throws: HTTP2Error.self) { try pair.post(3, path: String(repeating: "x", count: 15_661)) }
        #expect(error?.code == .frameSizeError && error?.isTransient == false)
        #expect(pair.client.openStreams == 1)
        try pair.post(4, path: "/next")
        try pair.settle()
        #expect(
            pair.requests().map { $0.request.headers.value(of: ":path")?.text } == ["/next"], "and nothing of the third"
        )
    }
}
