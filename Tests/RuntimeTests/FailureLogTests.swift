import Core
import Testing

@testable import Runtime

@Suite("Logging of failed connections")
struct FailureLogTests {
    private static let start = Instant(nanoseconds: 0)

    @Test("A connection that was never open is not lost, and its attempts are logged ever less often")
    func neverOpen() {
        var log = FailureLog()
        var lines: [FailureLog.Report] = []
        for attempt in 0..<60 {
            if let line = log.ended(at: Self.start + .seconds(3 * attempt)) { lines.append(line) }
        }
        #expect(
            lines == [
                .failed, .stillFailing(attempts: 11, since: .seconds(30)),
                .stillFailing(attempts: 31, since: .seconds(90)),
            ])
    }

    @Test("A connection that was open is lost once, and its failures count until it is open again")
    func lost() {
        var log = FailureLog()
        log.opened()
        #expect(log.ended(at: Self.start) == .lost)
        #expect(log.ended(at: Self.start + .seconds(10)) == nil)
        #expect(log.ended(at: Self.start + .seconds(42)) == .stillFailing(attempts: 2, since: .seconds(42)))
        log.opened()
        #expect(log.ended(at: Self.start + .seconds(50)) == .lost)
    }

    @Test("While another connection is open, each one that ends is reported")
    func others() {
        var log = FailureLog()
        log.opened()
        #expect(log.ended(isOpen: true, at: Self.start) == .lost)
        #expect(log.ended(isOpen: false, at: Self.start) == .lost)
        #expect(log.ended(isOpen: false, at: Self.start) == nil)
    }
}
