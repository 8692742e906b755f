import AMQP
import Core
import Simulator
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Compressed requests")
    struct ContentEncodingTests {
        @Test("A compressed request that APNs rejects is dead-lettered unchanged, and is sent again after a replay")
        func replay() throws {
            let stage = try Stage(script: "attempt 1: 400 BadMessageId")
            let worker = try stage.start()
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
            try worker.end()
            #expect(try stage.client.count(stage.deadLetterQueue) == 0)
            try stage.removeQueues()
        }
    }
}
