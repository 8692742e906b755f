import Core
import HTTP2
import TestSupport
import Testing

@Suite("A request's body")
struct FlowControlTests {
    @Test("arrives whole through any window", arguments: [0, 1, 100, 65_535] as [UInt32], [1, 99, 4096, 70_000])
    func windows(window: UInt32, size: Int) throws {
        let pair = try Pair.settled {
            $0.initial[.initialWindow] = window
            $0.maximumRequestBody = 100_000
        }
        #expect(pair.client.remoteInitialWindow == Int(window))
        for handle in 0..<3 { try pair.post(Handle(handle), body: payload(size)) }
        try pair.settle()
        if window == 0 {
            #expect(pair.requests().isEmpty && pair.client.wantsWrite == false)
            try pair.server.growWindow(stream: 1, by: 1)
            try pair.server.growWindow(stream: 3, by: Int32(size))
            try pair.settle()
            // One byte is enough: the server refills what it has read.
            #expect(pair.requests().map(\.stream).sorted() == [1, 3])
            try pair.server.raw.submitSettings([.initialWindow: 65_535])
            try pair.settle()
        }
        let requests = pair.requests()
        #expect(requests.allSatisfy { $0.request.body == payload(size) })
        for stream in [1, 3, 5] as [Int32] { try pair.server.respond(stream: stream, status: 200) }
        try pair.settle()
        #expect(pair.endings().count == 3)
    }

    @Test("waits for the connection's window")
    func connectionWindow() throws {
        let pair = try Pair.settled()
        #expect(pair.client.raw.remoteConnectionWindow == 65_535)
        for handle in 0..<3 { try pair.post(Handle(handle), body: payload(30_000)) }
        var bytes = ByteQueue()
        try pair.client.drain(into: &bytes)
        #expect(pair.client.raw.remoteConnectionWindow == 0 && pair.client.wantsWrite == false)
        try bytes.withBytes { try pair.server.receive($0) }
        try pair.settle()
        #expect(pair.requests().map(\.request.body.count) == [30_000, 30_000, 30_000])
        #expect(pair.client.raw.remoteConnectionWindow > 0)
    }

    @Test("leaves in parts as large as the caller allows")
    func limitedDrain() throws {
        let pair = try Pair.settled()
        for handle in 0..<100 { try pair.post(Handle(handle), body: payload(400)) }
        var total = 0
        while pair.client.wantsWrite {
            var bytes = ByteQueue()
            try pair.client.drain(into: &bytes, upTo: 1000)
            #expect(bytes.count < 2000)
            total += bytes.count
            try bytes.withBytes { try pair.server.receive($0) }
        }
        #expect(total > 40_000)
        #expect(pair.requests().count == 100)
    }
}
