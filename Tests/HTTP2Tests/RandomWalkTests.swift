import Core
import HTTP2
import TestSupport
import Testing

/// Both ends act at random, with bytes in flight in both directions.
private final class Walk {
    private var client: HTTP2ClientSession
    private let server: HTTP2ServerSession
    private var random: SplitMix64
    private var upward = ByteQueue()
    private var downward = ByteQueue()
    private(set) var submitted: Handle = 0
    private(set) var responses = 0
    private(set) var resets = 0
    private var ended: Set<Handle> = []
    /// The client's streams, dead or alive, and requests that the server has not answered.
    private var streams: [Int32] = []
    private var waiting: [(stream: Int32, body: [UInt8])] = []
    private var fields: [Int32: [HTTP2Header]] = [:]
    private var mayGo = false
    private var isGoing = false

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        client = try HTTP2ClientSession()
        var settings = HTTP2ServerSession.Settings()
        settings.initial[.maxConcurrentStreams] = [nil, 0, 1, 10].randomElement(using: &random)!
        settings.initial[.initialWindow] = [nil, 0, 100, 5000].randomElement(using: &random)!
        server = try HTTP2ServerSession(settings: settings)
    }

    func run(steps: Int) throws {
        for step in 0..<steps {
            mayGo = step > steps / 2
            try act()
            try observe()
        }
        // All bytes in flight may arrive; the remaining requests end with the connection.
        repeat {
            try client.drain(into: &upward)
            try server.drain(into: &downward)
            try deliver(upward.count, downward.count)
            try observe()
        } while client.wantsWrite || server.wantsWrite
        client.abandon(code: .cancel)
        try observe()
    }

    private func act() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: try submit()
        case 25..<40: try response()
        case 40..<43 where !streams.isEmpty: client.cancel(stream: streams.randomElement(using: &random)!)
        case 43..<46 where !waiting.isEmpty:
            let index = waiting.indices.randomElement(using: &random)!
            try server.reset(
                stream: waiting.remove(at: index).stream,
                code: [.refusedStream, .internalError, .noError].randomElement(using: &random)!)
        case 46..<49: try changeSettings()
        case 49..<50 where mayGo && !isGoing && Int.random(in: 0..<4, using: &random) == 0:
            isGoing = true
            try server.goaway(lastStreamID: .max)
        case 50..<51 where isGoing: try server.goaway(code: .noError, debugData: Array("{\"reason\":\"Shutdown\"}"))
        case 51..<53: try client.raw.ping()
        case 53..<65: try client.drain(into: &upward, upTo: Int.random(in: 1...3000, using: &random))
        case 65..<77: try server.drain(into: &downward, upTo: Int.random(in: 1...3000, using: &random))
        default: try deliver(Int.random(in: 0...2000, using: &random), Int.random(in: 0...2000, using: &random))
        }
    }

    private func submit() throws {
        client.beginRequest(path: "/3/device/\(submitted.value)")
        var expected = [
            HTTP2Header(":method", "POST"), HTTP2Header(":scheme", "https"),
            HTTP2Header(":authority", "api.push.apple.com"), HTTP2Header(":path", "/3/device/\(submitted.value)"),
        ]
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let name = (["apns-topic", "apns-id", "apns-priority"] as [StaticString]).randomElement(using: &random)!
            let value = ["1", "com.example.app", String(repeating: "x", count: 900)].randomElement(using: &random)!
            let isNever = Bool.random(using: &random)
            client.fields.add(name, Array(value).span, neverIndexed: isNever)
            expected.append(HTTP2Header(name.description, value))
        }
        let size = [nil, 0, 10, 4096, 20_000].randomElement(using: &random)!
        do throws(HTTP2Error) {
            let stream = try client.submit(body: size.map { payload($0)[...] }, handle: submitted)
            streams.append(stream)
            fields[stream] = expected
            submitted = submitted.advanced(by: 1)
        } catch {
            try #require(error.code == .startStreamNotAllowed && client.acceptsNoRequests)
        }
    }

    private func response() throws {
        guard let index = waiting.indices.randomElement(using: &random) else { return }
        let (stream, body) = waiting.remove(at: index)
        var response = HTTP2ServerResponse(status: 200, headers: [.init("apns-id", "x")], body: body)
        response.largestFrame = Int.random(in: 1...5000, using: &random)
        if Int.random(in: 0..<10, using: &random) == 0 { try server.inform(stream: stream, status: 103) }
        if Int.random(in: 0..<20, using: &random) == 0 { response.staysOpen = true }
        try server.respond(stream: stream, response)
    }

    private func changeSettings() throws {
        var changes: [HTTP2Setting: UInt32] = [:]
        changes[.maxConcurrentStreams] = [nil, 0, 1, 20, 1000].randomElement(using: &random)!
        changes[.initialWindow] = [nil, 0, 100, 65_535].randomElement(using: &random)!
        changes[.headerTableSize] = [nil, 0, 100, 65_536].randomElement(using: &random)!
        try server.raw.submitSettings(changes)
    }

    private func deliver(_ up: Int, _ down: Int) throws {
        let up = min(up, upward.count)
        try upward.withBytes { try server.receive($0.extracting(0..<up)) }
        upward.consume(up)
        let down = min(down, downward.count)
        try downward.withBytes { try client.receive($0.extracting(0..<down)) }
        downward.consume(down)
    }

    private func observe() throws {
        while let event = server.nextEvent() {
            switch event {
            case .request(let stream, let request):
                try #require(request.headers == fields[stream])
                try #require(request.body == payload(request.body.count))
                waiting.append((stream, request.body))
            case .closed(let stream, _): waiting.removeAll { $0.stream == stream }
            default: break
            }
        }
        while let event = client.nextEvent() {
            switch event {
            case .response(let handle, let response):
                try #require(response.status == 200)
                try #require(response.body == payload(response.body.count))
                try #require(ended.insert(handle).inserted)
                responses += 1
            case .reset(let handle, _, _):
                try #require(ended.insert(handle).inserted)
                resets += 1
            default: break
            }
        }
        try #require(client.openStreams == submitted.index - responses - resets)
    }
}

@Suite("A random walk")
struct RandomWalkTests {
    @Test("ends every request exactly once", arguments: 1...25 as ClosedRange<UInt64>)
    func conservation(seed: UInt64) throws {
        let walk = try Walk(seed: seed)
        try walk.run(steps: 2000)
        #expect(walk.submitted.index == walk.responses + walk.resets && walk.responses > 0 && walk.resets > 0)
    }
}
