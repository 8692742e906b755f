import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell load")
    struct LoadCommandTests {
        @Test("a fully answered load ends with 0 and prints its ledger as JSON, one without a worker with 65")
        func complete() throws {
            let stage = try Stage(script: "token 7*: delay 2ms..20ms")
            let worker = try stage.start()
            let load = try stage.run(
                ["load", "--queue", stage.quorumQueue, "--count", "200", "--rate", "1000", "--json"]).expectExit(0)
            #expect(load.text(.errors).isEmpty, "\(load.report)")
            let object = try load.object()
            for (key, count) in [
                ("published", 200), ("answered", 200), ("missing", 0), ("duplicates", 0), ("strangers", 0),
            ] {
                #expect(object[key] as? Int == count, "\(key): \(load.report)")
            }
            #expect(object["outcomes"] as? [String: Int] == ["accepted": 200])
            let latencies = try ["p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms"].map { key in
                try #require(object[key] as? Double, "\(key)")
            }
            // APNs takes at least 2 ms.
            #expect(latencies.sorted() == latencies && latencies[0] > 2, "\(latencies)")
            // 200 messages at 1000 a second, less the first ten or so.
            let seconds = try #require(object["seconds"] as? Double)
            let perSecond = try #require(object["per_second"] as? Double)
            #expect(seconds > 0.15 && abs(perSecond * seconds - 200) < 1)
            try worker.end()
            let unread = try stage.run(
                ["load", "--queue", stage.quorumQueue, "--count", "2", "--timeout", "1"]).expectExit(65)
            #expect(unread.errors.contains("without a result: 2;"), "\(unread.report)")
        }
    }
}
