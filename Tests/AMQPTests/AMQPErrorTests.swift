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
    @Test("The advice for a refused access fits its cause")
    func refusedAccess() {
        func advice(_ text: String) -> Substring? {
            AMQPError.closed(replyCode: 403, text: text, name: "ACCESS_REFUSED").message.split(separator: ": ").last
        }
        #expect(
            advice("ACCESS_REFUSED - queue 'push' in vhost '/' in exclusive use")
                == "stop the other consumer of the queue")
        #expect(
            advice("ACCESS_REFUSED - read access to queue 'push' refused for user 'app'")
                == "check user, password and permissions")
    }
}
