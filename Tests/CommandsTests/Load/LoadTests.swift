import AMQP
import ArgumentParser
import Core
import Testing

@testable import Commands

@Suite("Load")
struct LoadTests {
    private static let start = Instant(nanoseconds: 0)

    @Test("Each message counts once, however often it is published or answered, and others are strangers")
    func ledger() {
        var ledger = LoadLedger()
        ledger.published(0, at: Self.start)
        ledger.published(1, at: Self.start + .seconds(1))
        ledger.published(0, at: Self.start + .seconds(5))
        #expect(ledger.missing == 2)
        ledger.responded(0, outcome: "accepted", at: Self.start + .seconds(6))
        ledger.responded(0, outcome: "rejected", at: Self.start + .seconds(9))
        #expect(ledger.missing == 1 && ledger.duplicates == 1 && ledger.outcomes == ["accepted": 1])
        #expect(ledger.latencies == [.seconds(6)] && ledger.elapsed == .seconds(6))
        for index in [nil, -1, 2, 3] { ledger.responded(index, outcome: "accepted", at: Self.start) }
        #expect(ledger.strangers == 4 && ledger.responded == 1)
    }

    @Test("Percentiles are nearest ranks")
    func percentiles() {
        let sorted = (1...10).map { Duration.seconds($0) }
        let found = [0, 0.5, 0.99, 1].compactMap { LoadLedger.percentile($0, of: sorted) }
        #expect(found == [.seconds(1), .seconds(5), .seconds(10), .seconds(10)])
        #expect(LoadLedger.percentile(0.5, of: []) == nil)
    }

    @Test(
        "Numbers within the limits of an option are accepted, and others refused",
        arguments: [
            ("load --count", 1...100_000_000), ("load --count=1 --rate", 1...10_000_000),
            ("load --count=1 --body-size", 0...1_000_000), ("load --count=1 --timeout", 1...86400),
            ("send --device-token=00 --body=a --timeout", 1...86400), ("simulate --port=0 --inbox-size", 1...1_000_000),
            ("dead-letters replay --rate", 1...1_000_000),
        ])
    func limits(option: String, range: ClosedRange<Int>) {
        let numbers = [range.lowerBound - 1, range.lowerBound, range.upperBound, range.upperBound + 1]
        let areAccepted = numbers.map { number in
            (try? RootCommand.parseAsRoot("\(option)=\(number)".split(separator: " ").map(String.init))) != nil
        }
        #expect(areAccepted == [false, true, true, false])
    }

    @Test("A message id contains its position in the run, and a stranger's has none")
    func messageIDs() {
        let plan = LoadPlan(run: "run", topic: "com.example.app", mix: .accepted, bodySize: 0)
        for index in [0, 7, 123_456] {
            #expect(plan.index(ofMessageID: ArraySlice(plan.messageID(index).utf8)) == index)
        }
        for id in ["run", "run-", "run-x", "runs-1", "other-1", ""] {
            #expect(plan.index(ofMessageID: ArraySlice(id.utf8)) == nil)
        }
    }

    @Test("A plan gives the same body for the same position, a different device to each, and the announced mix")
    func bodies() {
        let plan = LoadPlan(run: "run", topic: "com.example.app", mix: .accepted, bodySize: 100)
        #expect(plan.body(3) == plan.body(3))
        let properties = plan.request(3, to: "q", replyTo: "r").properties
        #expect(properties.contentType == Array("application/json".utf8) && properties.replyTo == Array("r".utf8))
        #expect(Set((0..<100).map { plan.body($0) }).count == 100)
        let varied = LoadPlan(run: "run", topic: "com.example.app", mix: .varied, bodySize: 0)
        let texts = (0..<100).map { String(decoding: varied.body($0), as: UTF8.self) }
        #expect(texts.count { $0.hasPrefix("{\"device-token\":\"dead") } == 1)
        #expect(texts.count { $0.hasPrefix("{\"device-token\":\"bad0") } == 2)
        #expect(texts.count { !$0.hasPrefix("{") } == 1)
        #expect(texts.count { !$0.contains("payload") } == 2)
        #expect(String(decoding: plan.body(47), as: UTF8.self).contains(#/^\{"device-token":"7[0-9a-f]{63}"/#))
    }
}
