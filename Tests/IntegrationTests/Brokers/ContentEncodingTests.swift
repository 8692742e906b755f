import AMQP
import Core
import Glibc
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Compressed requests")
    struct ContentEncodingTests {
        private static let limit = 20_000

        private struct Case {
            let body: [UInt8]
            let encoding: String
            /// The end of an invalid request's detail; `nil` for a request that is sent.
            var detail: String?
        }

        private static var cases: [Case] {
            let text = Array(Requests.body(0).utf8)
            let bomb = Compressor.gzip([UInt8](repeating: 32, count: 10 * 1_048_576))
            return [
                Case(body: Compressor.gzip(text), encoding: "gzip"),
                Case(body: Compressor.zlib(text), encoding: "deflate"),
                Case(body: text, encoding: "identity"), Case(body: text, encoding: "utf-8"),
                Case(body: text, encoding: "br", detail: "\"br\" is not one of gzip, deflate, identity"),
                Case(
                    body: bomb, encoding: "gzip",
                    detail: "larger than broker.max_message_bytes (\(limit)) allows after decompression"),
                Case(
                    body: Compressor.gzip(text).dropLast(4), encoding: "gzip",
                    detail: "the body ends before its gzip data does"),
                Case(
                    body: Compressor.zlib(text) + [0], encoding: "deflate",
                    detail: "there are bytes after the zlib data"),
            ]
        }

        private func settings(_ stage: Stage) -> Stage.Settings {
            Stage.Settings(moreBroker: "max_message_bytes: \(Self.limit)")
        }

        private func text(_ bytes: ArraySlice<UInt8>?) -> String { string(bytes) ?? "" }

        @Test("gzip and deflate are decoded; an unreadable body is invalid, and its dead letter keeps the encoding")
        func encodings() throws {
            let stage = try Stage(script: "")
            let worker = try stage.start(settings(stage))
            let cases = Self.cases
            try stage.client.publish(
                cases.enumerated().map { index, entry in
                    var message = stage.requests.message(
                        index, to: index.isMultiple(of: 2) ? stage.quorumQueue : stage.classicQueue)
                    message.properties.contentEncoding = Array(entry.encoding.utf8)
                    message.body = ArraySlice(entry.body)
                    return message
                })
            var results: [Int: Conservation.Result] = [:]
            try stage.client.consume([stage.resultQueue]) { delivery in
                let index = try #require(stage.requests.index(ofMessageID: delivery.correlationID))
                #expect(results.updateValue(try Conservation.Result(delivery), forKey: index) == nil, "one result each")
                return results.count == cases.count
            }
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(30)) == .exited(0), "\(worker.report)")
            let letters = try stage.client.takeAll(stage.deadLetterQueue)
            for (index, entry) in cases.enumerated() {
                let result = try #require(results[index])
                let letter = letters.first { stage.requests.index(ofMessageID: $0.messageID) == index }
                #expect(result.outcome == (entry.detail == nil ? "accepted" : "invalid"), "\(result)")
                #expect((letter == nil) == (entry.detail == nil))
                guard let detail = entry.detail else { continue }
                #expect(result.detail?.hasPrefix("content-encoding: ") == true, "\(result)")
                #expect(result.detail?.hasSuffix(detail) == true, "\(result)")
                #expect(letter.map { Array($0.body) } == entry.body)
                #expect(text(letter?.contentEncoding) == entry.encoding)
            }
            #expect(stage.simulator.ledger.statistics.accepted == cases.count { $0.detail == nil })
            try stage.removeQueues()
        }

        @Test("A compressed request that APNs rejects is dead-lettered unchanged, and is sent again after a replay")
        func replay() throws {
            let stage = try Stage(script: "attempt 1: 400 BadMessageId")
            let worker = try stage.start(settings(stage))
            let body = Compressor.gzip(Array(Requests.body(1).utf8))
            var message = stage.requests.message(1, to: stage.quorumQueue)
            message.properties.contentEncoding = Array("gzip".utf8)
            message.body = ArraySlice(body)
            try stage.client.publish([message])
            func result() throws -> Conservation.Result? {
                var result: Conservation.Result?
                try stage.client.consume([stage.resultQueue]) { delivery in
                    result = try Conservation.Result(delivery)
                    return true
                }
                return result
            }
            #expect(try result()?.outcome == "rejected")
            let file = stage.directory.file("harebell.yaml")
            let shown = try ChildProcess.run(
                stage.binary, ["dead-letters", "list", "--config", file, "--topic", Requests.topic, "--json"])
            #expect(shown.contains("BadMessageId"), "its topic is read: \(shown)")
            try ChildProcess.run(stage.binary, ["dead-letters", "replay", "--config", file, "--yes"])
            #expect(try result()?.outcome == "accepted")
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(30)) == .exited(0), "\(worker.report)")
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            try stage.removeQueues()
        }
    }
}
