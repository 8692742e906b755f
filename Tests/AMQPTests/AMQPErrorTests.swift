import Testing

@testable import AMQP

@Suite("AMQPError")
struct AMQPErrorTests {
    @Test(
        "The consumer timeout is read only from the broker's own message about it",
        arguments: [
            ("timed out. Timeout value used: 60000 ms. This timeout value can be configured", 60_000),
            ("timed out. Timeout value used: 1 ms", 1), ("timed out. Timeout value used: 0 ms.", nil),
            ("timed out. Timeout value used: -5 ms.", nil), ("timed out. Timeout value used: 5", nil),
            ("timed out. Timeout value used: 5 s", nil), ("timed out. Timeout value used:", nil), ("timed out", nil),
            ("inequivalent. Timeout value used: 60000 ms.", nil),
        ] as [(String, Int64?)])
    func consumerTimeout(text: String, milliseconds: Int64?) {
        let error = AMQPError.closed(replyCode: 406, text: text, name: "PRECONDITION_FAILED")
        #expect(error.consumerTimeout == milliseconds.map { .milliseconds($0) })
    }

    @Test("LavinMQ's timeout and its low disk are recognised, and a publication is not to blame for them")
    func lavinMQ() {
        func error(_ text: String) -> AMQPError {
            .closed(replyCode: 406, text: "PRECONDITION_FAILED - \(text)", name: "PRECONDITION_FAILED")
        }
        #expect(error("consumer timeout").code == .consumerTimeout)
        for text in ["consumer timeout", "Server low on disk space", "Server low on memory"] {
            #expect(error(text).isTransient && !error(text).isAboutPublish, "\(text)")
        }
        let invalid = error("invalid expiration 'x'")
        #expect(!invalid.isTransient && invalid.isAboutPublish)
        for code: UInt16 in [311, 404, 501, 502, 503, 504, 505, 540, 541] {
            #expect(AMQPError.closed(replyCode: code, text: "", name: "").isAboutPublish, "\(code)")
        }
    }

    @Test(
        "A limit of connections or channels is named, and passes",
        arguments: [
            "access to vhost '/' refused for user 'app': connection limit (1) is reached",
            "access to vhost '/' refused for user 'app': vhost connection limit (1) is reached",
            "number of channels opened for user 'app' has reached the maximum allowed user limit of (1)",
        ])
    func limits(text: String) {
        let error = AMQPError.closed(replyCode: 530, text: "NOT_ALLOWED - \(text)", name: "NOT_ALLOWED")
        #expect(
            error.message.hasSuffix(": raise the limit of the user or of the virtual host, or close other connections"))
        #expect(error.isTransient && error.needsPatience)
        let other = AMQPError.closed(replyCode: 530, text: "NOT_ALLOWED - vhost x not found", name: "NOT_ALLOWED")
        #expect(!other.isTransient && other.message.contains("check the virtual host"))
    }
}
