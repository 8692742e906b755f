import Foundation
import TestSupport
import Testing

@testable import Simulator

@Suite("The inbox's ring")
struct InboxRingTests {
    private static func ring(size: Int, _ tokens: [String]) throws -> InboxRing {
        var ring = InboxRing(size: size)
        for token in tokens { ring.append(try #require(InboxSamples.entry(InboxSamples.record(token: token)))) }
        return ring
    }

    private static func ids(_ ring: InboxRing, _ parameters: [(String, String)] = []) throws -> [Int] {
        let query = try InboxQuery(parameters.map { (name: $0.0, value: $0.1) }, names: InboxQuery.waitNames, size: 10)
        return ring.matches(query).newest.map(\.id)
    }

    @Test(
        "It keeps the newest entries, newest first; IDs select those after or before them, stored or not",
        arguments: [
            ([("after", "3")], [5, 4]), ([("after", "0")], [5, 4, 3]), ([("after", "5")], []), ([("after", "99")], []),
            ([("before", "5")], [4, 3]), ([("before", "3")], []), ([("before", "1")], []),
            ([("before", "99")], [5, 4, 3]), ([("limit", "2")], [5, 4]),
            ([("after", "3"), ("before", "5")], [4]), ([("after", "5"), ("before", "3")], []),
            ([("after", String(Int.max))], []), ([("before", String(Int.max))], [5, 4, 3]),
        ])
    func range(parameters: [(String, String)], expected: [Int]) throws {
        #expect(try Self.ids(Self.ring(size: 3, ["00", "01", "02", "03", "04"]), parameters) == expected)
    }

    @Test("IDs continue after everything was deleted")
    func deletion() throws {
        var ring = try Self.ring(size: 3, ["00", "01"])
        ring.removeAll()
        #expect(try Self.ids(ring).isEmpty)
        ring.append(try #require(InboxSamples.entry()))
        #expect(try Self.ids(ring) == [3])
        #expect(try Self.ids(ring, [("after", "2")]) == [3])
    }

    @Test("A page of 100 out of 10,000 notifications with the largest payload is built in less than 100 ms")
    func manyEntries() throws {
        var ring = InboxRing(size: 10_000)
        let payload = "{\"aps\":{\"alert\":\"\(String(repeating: "x", count: 4070))\"}}"
        for index in 0..<10_001 {
            let token = String(format: "%08x", index)
            ring.append(try #require(InboxSamples.entry(InboxSamples.record(token: token, payload: payload))))
        }
        let query = try InboxQuery([], names: [], size: 10_000)
        // Processor time, and the least of several runs: other programs do not count.
        let best = (0..<10).map { _ in
            let start = threadTime()
            #expect(ring.json(query).count > 400_000)
            return threadTime() - start
        }.min()
        #if THREAD_SANITIZER
            // Its checks take most of the time.
            let limit = Duration.seconds(1)
        #else
            let limit = Duration.milliseconds(100)
        #endif
        #expect(try #require(best) < limit)
        #expect(ring.matches(query).count == 10_000 && ring.matches(query).newest.count == 100)
    }
}

@Suite("An entry of the inbox")
struct InboxEntryTests {
    @Test(
        "It has the bundle ID and the kind of its push type",
        arguments: [
            ("alert", "com.example.app", "com.example.app", "Alert"),
            ("voip", "com.example.app.voip", "com.example.app", "Incoming call"),
            ("pushtotalk", "com.example.app.voip-ptt", "com.example.app", "Push to Talk"),
            ("widgets", "com.example.app.push-type.widgets", "com.example.app", "Widget update"),
        ])
    func kind(pushType: String, topic: String, bundleID: String, kind: String) throws {
        var ring = InboxRing(size: 1)
        var record = InboxSamples.record(topic: topic)
        record.fields.pushType = Array(pushType.utf8)
        ring.append(try #require(InboxSamples.entry(record)))
        let json = String(decoding: ring.json(try InboxQuery([], names: [], size: 1)), as: UTF8.self)
        #expect(json.contains("\"bundle-id\":\"\(bundleID)\",\"kind\":\"\(kind)\""), "\(json)")
    }
}
