import Core
import Testing

@testable import Operations

@Suite("Dead-letter commands")
struct DeadLetterOperationTests {
    private static let now = WallTime(milliseconds: 1_790_000_000_000)

    private func order(_ body: String, replays: Bool = true) throws(ArchiveFailure) -> DeadLetterOperation {
        try DeadLetterOperation(Array(body.utf8), replays: replays, at: Self.now)
    }

    @Test("It selects messages, a limit and a rate")
    func whole() throws {
        let order = try order(
            """
            {"outcomes":["rejected","invalid"],"reasons":["BadTopic"],"topic":"com.example.app",
             "environment":"development","origin":"push.requests","since":"2h",
             "until":"2026-11-21T22:00:00Z","limit":7,"rate":20}
            """)
        #expect(order.verb == .replay)
        #expect(order.filter.outcomes == ["rejected", "invalid"])
        #expect(order.filter.reasons == ["BadTopic"])
        #expect(order.filter.topic == "com.example.app")
        #expect(order.filter.environment == .development)
        #expect(order.filter.origin == "push.requests")
        #expect(order.filter.since == WallTime(milliseconds: Self.now.milliseconds - 7_200_000))
        #expect(order.filter.until == WallTime(rfc3339: "2026-11-21T22:00:00Z"))
        #expect(order.limit == 7)
        #expect(order.rate == 20)
    }

    @Test("Missing or null fields select all, at the usual rate; a dry run and a listing change nothing")
    func short() throws {
        for body in ["{}", "{\"outcomes\":[],\"topic\":null,\"limit\":null,\"rate\":null}"] {
            let order = try order(body)
            #expect(order.filter.isEmpty)
            #expect(order.limit == nil)
            #expect(order.rate == DeadLetterOperation.defaultRate)
            #expect(order.verb == .replay)
        }
        #expect(try order("{\"dry_run\":true}").verb == .look)
        #expect(try order("{}", replays: false).verb == .look)
    }

    @Test(
        "An invalid command is refused, and never taken for a wider one",
        arguments: [
            "", "[]", "{", "{}{}", "null", "{\"outcome\":[\"rejected\"]}", "{\"outcomes\":\"rejected\"}",
            "{\"outcomes\":[\"refused\"]}", "{\"reasons\":[1]}", "{\"limit\":0}", "{\"limit\":-1}", "{\"limit\":1.5}",
            "{\"limit\":\"1\"}", "{\"environment\":\"sandbox\"}",
            "{\"rate\":0}", "{\"rate\":1000001}", "{\"dry_run\":\"true\"}", "{\"dry_run\":1}",
            "{\"since\":\"yesterday\"}", "{\"topic\":\"a\",\"topic\":\"b\"}",
        ])
    func refusals(body: String) {
        #expect(throws: ArchiveFailure.self) { try order(body) }
    }

    @Test("A listing takes neither rate nor dry run")
    func look() {
        #expect(throws: ArchiveFailure.self) { try order("{\"rate\":5}", replays: false) }
        #expect(throws: ArchiveFailure.self) { try order("{\"dry_run\":true}", replays: false) }
    }
}
