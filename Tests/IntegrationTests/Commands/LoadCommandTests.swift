import Foundation
import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("harebell load")
    struct LoadCommandTests {
        private static func launch(_ stage: Stage, _ arguments: [String]) throws -> ChildProcess {
            try ChildProcess(stage.binary, ["load", "--config", stage.directory.file("harebell.yaml")] + arguments)
        }

        /// Runs it to its end.
        private static func load(_ stage: Stage, _ arguments: [String]) throws -> ChildProcess {
            let process = try launch(stage, arguments)
            try process.waitForExit(within: .seconds(120))
            return process
        }

        private static func object(_ process: ChildProcess) throws -> [String: Any] {
            let object = try JSONSerialization.jsonObject(with: Data(process.text().utf8))
            return try #require(object as? [String: Any], "\(process.report)")
        }

        @Test("a fully answered load ends with 0 and prints its ledger, as JSON or as a table")
        func complete() throws {
            let stage = try Stage(script: "token 7*: delay 2ms..20ms")
            var settings = Stage.Settings()
            settings.drainDeadline = 40
            let worker = try stage.start(settings)
            let asJSON = try Self.load(
                stage, ["--queue", stage.quorumQueue, "--count", "200", "--rate", "1000", "--json"])
            #expect(asJSON.exit == .exited(0), "\(asJSON.report)")
            #expect(asJSON.text(.errors).isEmpty, "\(asJSON.report)")
            let object = try Self.object(asJSON)
            for (key, count) in [
                ("published", 200), ("answered", 200), ("missing", 0), ("duplicates", 0), ("strangers", 0),
            ] {
                #expect(object[key] as? Int == count, "\(key): \(asJSON.report)")
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
            #expect(seconds > 0.15 && abs(perSecond * seconds - 200) < 0.01)

            let asTable = try Self.load(stage, ["--queue", stage.quorumQueue, "--count", "100", "--mix", "varied"])
            #expect(asTable.exit == .exited(0), "\(asTable.report)")
            let lines = asTable.text().split(separator: "\n").map(String.init)
            #expect(lines.first == "published    100", "\(lines)")
            #expect(lines.contains { $0.hasPrefix("answered     100 in ") && $0.hasSuffix(" a second") }, "\(lines)")
            for line in [
                "             95 accepted", "             2 invalid", "             2 unregistered BadDeviceToken",
                "             1 unregistered Unregistered", "missing      0", "duplicates   0", "strangers    0",
            ] {
                #expect(lines.contains(line), "\(line): \(lines)")
            }
            let names = ["latency      p50 ", "  p90 ", "  p99 ", "  p99.9 ", "  max "]
            #expect(lines.last.map { line in names.allSatisfy(line.contains) } == true, "\(lines)")
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            try stage.removeQueues()
        }
    }
}
