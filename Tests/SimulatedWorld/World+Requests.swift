package import AMQP
import TestSupport

extension World {
    /// A device token that begins like this.
    package static func token(_ prefix: String) -> String {
        prefix + String(repeating: "0", count: 64 - prefix.count)
    }

    package static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "7" + String(repeating: "0", count: 63 - digits.count) + digits
    }

    /// A request for one device.
    ///
    /// - Parameters:
    ///   - number: names the device.
    ///   - extra: further members, each with a comma behind it.
    package static func body(_ number: Int, topic: String = "com.example.app", extra: String = "") -> String {
        body(token: token(number), topic: topic, extra: extra)
    }

    /// A request for a device whose token begins like this.
    package static func body(token prefix: String = "7", topic: String = "com.example.app", extra: String = "")
        -> String
    {
        "{\"device-token\":\"\(token(prefix))\",\(rest(topic, extra))"
    }

    /// A request for several devices.
    package static func fanOut(_ tokens: [String], topic: String = "com.example.app", extra: String = "") -> String {
        let list = tokens.map { "\"\(token($0))\"" }.joined(separator: ",")
        return "{\"device-tokens\":[\(list)],\(rest(topic, extra))"
    }

    private static func rest(_ topic: String, _ extra: String) -> String {
        "\"apns-topic\":\"\(topic)\",\(extra)\"payload\":{\"aps\":{\"badge\":1}}}"
    }

    package func request(
        _ body: String, id: String? = nil, replyTo: String? = nil, _ edit: (inout MessageProperties) -> Void = { _ in }
    ) throws {
        var properties = MessageProperties()
        properties.messageID = id.map { Array($0.utf8) }
        properties.replyTo = replyTo.map { Array($0.utf8) }
        edit(&properties)
        try broker.put(Array(body.utf8), properties: properties, into: "push.requests")
        settle()
    }

    /// Puts requests for one device each into a queue, all at once.
    package func put(
        _ numbers: Range<Int>, into queue: String = "push.requests", topic: String = "com.example.app",
        extra: String = "", replyTo: String? = nil
    ) throws {
        for number in numbers {
            var properties = MessageProperties()
            properties.messageID = Array("\(topic) \(number)".utf8)
            properties.replyTo = replyTo.map { Array($0.utf8) }
            let body = Self.body(number, topic: topic, extra: extra)
            try broker.put(Array(body.utf8), properties: properties, into: queue)
        }
        settle()
    }
}
