import Core
import HTTP2
import TestSupport
import Testing

/// Invalid bytes. A session throws or continues; it never traps, and reports each end once.
@Suite("Fuzzing HTTP/2")
struct HTTP2FuzzTests {
    private static let frames =
        Mutator.binaryFragments + [
            // HEADERS with END_HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE, CONTINUATION; an indexed field, a
            // huge table.
            [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88], [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8], [0, 0, 0, 4, 0, 0, 0, 0, 0],
            [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF],
            [0, 0, 1, 9, 4, 0, 0, 0, 1, 0x88], [0x3F, 0xE1, 0xFF, 0x03],
        ]

    private static func client() throws -> HTTP2ClientSession {
        var settings = HTTP2ClientSession.Settings()
        settings.wantedHeaders = ["apns-id"]
        var client = try HTTP2ClientSession(settings: settings)
        for handle in Handle(0)..<5 {
            client.beginRequest(path: "/3/device/0\(handle.value)")
            client.fields.add("authorization", "bearer secret")
            _ = try client.submit(body: payload(100 * handle.index)[...], handle: handle)
        }
        return client
    }

    /// The output of a client, and of a server that uses every frame.
    private static func conversation() throws -> (client: [UInt8], server: [UInt8]) {
        var client = try client()
        let server = try HTTP2ServerSession()
        var output = ByteQueue()
        try client.drain(into: &output)
        let said = output.copy()
        try server.receive(said.span)
        while let event = server.nextEvent() {
            guard case .request(let stream, _) = event else { continue }
            try server.inform(stream: stream, status: 103)
            try server.respond(
                stream: stream, status: 400, headers: [HTTP2Header("apns-id", "1-2")],
                body: Array(#"{"reason":"BadDeviceToken"}"#.utf8))
        }
        try server.raw.ping()
        try server.goaway(lastStreamID: 9, code: .noError, debugData: Array(#"{"reason":"x"}"#.utf8))
        var response = ByteQueue()
        try server.drain(into: &response)
        return (said, response.copy())
    }

    @Test("For any server input, each of a client's requests ends at most once")
    func clientSide() throws {
        let stream = try Self.conversation().server
        let seed = Mutator.seed(20_261_122)
        var mutator = Mutator(seed: seed, fragments: Self.frames)
        var (broken, complete) = (0, 0)
        for _ in 0..<Mutator.inputs(3000) {
            var damaged = stream
            mutator.damage(&damaged)
            var client = try Self.client()
            var output = ByteQueue()
            try client.drain(into: &output)
            var ended: [Handle: Int] = [:]
            do throws(HTTP2Error) {
                let half = damaged.count / 2
                for part in [damaged[..<half], damaged[half...]] {
                    try client.receive(part.span)
                    try client.drain(into: &output)
                }
            } catch {
                broken += 1
            }
            client.abandon(code: .cancel)
            while let event = client.nextEvent() {
                switch event {
                case .response(let handle, _):
                    ended[handle, default: 0] += 1
                    complete += 1
                case .reset(let handle, _, _): ended[handle, default: 0] += 1
                default: break
                }
            }
            #expect(ended.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        }
        #expect(broken > 0 && complete > 0, "seed \(seed): some connections break, some answers come through")
    }

    @Test("For any client input, a server's session responds or fails")
    func serverSide() throws {
        let stream = try Self.conversation().client
        let seed = Mutator.seed(20_261_123)
        var mutator = Mutator(seed: seed, fragments: Self.frames)
        var (broken, requests) = (0, 0)
        for _ in 0..<Mutator.inputs(3000) {
            var damaged = stream
            mutator.damage(&damaged)
            let server = try HTTP2ServerSession()
            var output = ByteQueue()
            do throws(HTTP2Error) {
                try server.receive(damaged.span)
                while let event = server.nextEvent() {
                    guard case .request(let stream, _) = event else { continue }
                    requests += 1
                    try server.respond(stream: stream, status: 200)
                }
                try server.drain(into: &output)
            } catch {
                broken += 1
            }
        }
        #expect(broken > 0 && requests > 0, "seed \(seed)")
    }
}
