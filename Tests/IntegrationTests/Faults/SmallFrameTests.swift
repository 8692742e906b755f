import AMQP
import Core
import Glibc
import TestSupport
import Testing

extension ProcessTests {
    @Suite("A broker with small frames")
    struct SmallFrameTests {
        @Test("a dead letter whose headers do not fit is published without the largest, and the drain ends in time")
        func deadLetter() throws {
            let broker = try PrivateBroker()
            // For every connection from now on.
            try broker.control("eval", "application:set_env(rabbit, frame_max, 8192).")
            let stage = try Stage(broker: broker.url)
            let worker = try stage.start()
            var bad = stage.requests.message(0, to: stage.quorumQueue, body: "no request")
            bad.properties.headers = FieldTable([
                .init(name: Array("small".utf8), value: .string("x")),
                .init(name: Array("large".utf8), value: .text([UInt8](repeating: 0x61, count: 7700))),
            ])
            try stage.client.publish([bad, stage.requests.message(1, to: stage.quorumQueue)])
            var conservation = Conservation(stage.requests, count: 2)
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == 2
            }
            #expect(conservation.outcomes == ["invalid": 1, "accepted": 1])
            worker.signal(SIGTERM)
            #expect(try worker.waitForExit(within: .seconds(30)) == .exited(0), "\(worker.report)")
            let letters = try stage.client.takeAll(stage.deadLetterQueue)
            #expect(letters.map { String(decoding: $0.body, as: UTF8.self) } == ["no request"])
            let letter = try #require(letters.first)
            let headers = try #require(try MessageProperties(decoding: letter.rawProperties).headers)
            #expect(headers["small"] == .string("x") && headers["large"] == nil)
            #expect(headers["harebell-omitted"] == .string("large"))
            #expect(try stage.client.takeAll(stage.quorumQueue).isEmpty)
        }
    }
}
