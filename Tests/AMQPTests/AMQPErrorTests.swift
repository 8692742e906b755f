import Testing

@testable import AMQP

@Suite("AMQPError")
struct AMQPErrorTests {
    @Test(
        "The consumer timeout is read only from the broker's own message about it",
        arguments: [
            ("timed out. Timeout value used: 60000 ms. This timeout value can be configured", 60_000),
            ("timed out. Timeout value used: 1800000 ms", 1_800_000), ("timed out. Timeout value used: 0 ms.", nil),
            ("timed out. Timeout value used: -5 ms.", nil), ("timed out. Timeout value used: 5", nil),
            ("timed out. Timeout value used: 5 s", nil), ("timed out. Timeout value used:", nil), ("timed out", nil),
            ("inequivalent. Timeout value used: 60000 ms.", nil),
        ] as [(String, Int64?)])
    func consumerTimeout(text: String, milliseconds: Int64?) {
        let error = AMQPError.closed(replyCode: 406, text: text, name: "PRECONDITION_FAILED")
        #expect(error.consumerTimeout == milliseconds.map { .milliseconds($0) })
    }
}
