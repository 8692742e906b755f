import AMQP
import Core
import TestSupport
import Testing

@testable import Pipeline

@Suite("Orphaned requests")
struct OrphanedRequestsTests {
    private static func request(_ body: String) throws -> InFlightRequest {
        InFlightRequest(
            delivery: try DeadLetterSamples.delivery([:], messageID: nil, body: body),
            arrived: Moment(instant: Instant(nanoseconds: 0), wall: WallTime(milliseconds: 0)))
    }

    private static func key(_ request: InFlightRequest) -> RedeliveryKey {
        RedeliveryKey(request.delivery)
    }

    @Test("Look-alike requests are adopted one by one, the oldest first, and then no more")
    func lookAlikes() throws {
        var orphans = OrphanedRequests()
        let requests = try [Self.request("a"), Self.request("a"), Self.request("b")]
        for request in requests { orphans.insert(request) }
        #expect(requests.allSatisfy { $0.isOrphan })
        for request in requests {
            #expect(orphans.adopt(Self.key(request)) === request)
            #expect(!request.isOrphan)
        }
        #expect(orphans.isEmpty)
        #expect(orphans.adopt(Self.key(requests[0])) == nil)
    }

    @Test("An orphaned request is adopted once, however many connections are lost")
    func lostAgain() throws {
        var orphans = OrphanedRequests()
        let request = try Self.request("a")
        for _ in 0..<3 { orphans.insert(request) }
        #expect(orphans.adopt(Self.key(request)) === request)
        #expect(orphans.isEmpty)
    }
}
