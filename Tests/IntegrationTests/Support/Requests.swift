import AMQP

/// The requests of one test: each has a number, which its message id and its device token contain.
struct Requests: Sendable {
    static let topic = "com.example.ledger"

    let run: String
    let replyTo: String

    func messageID(_ index: Int) -> String {
        "\(run)-\(index)"
    }

    func index(ofMessageID id: ArraySlice<UInt8>?) -> Int? {
        guard let id, id.starts(with: "\(run)-".utf8) else { return nil }
        return Int(String(decoding: id.dropFirst(run.utf8.count + 1), as: UTF8.self))
    }

    /// A device token for each message; the simulator has no rule for a first digit of 7.
    static func deviceToken(_ index: Int, beginning: String = "7") -> String {
        let digits = String(index, radix: 16)
        return beginning + String(repeating: "0", count: 64 - beginning.count - digits.count) + digits
    }

    static func index(ofDeviceToken token: ArraySlice<UInt8>) -> Int? {
        Int(String(decoding: token.suffix(8), as: UTF8.self), radix: 16)
    }

    /// A valid envelope.
    static func body(_ index: Int, topic: String = topic, beginning: String = "7") -> String {
        """
        {"device-token":"\(deviceToken(index, beginning: beginning))","apns-topic":"\(topic)","apns-push-type":"alert",\
        "payload":{"aps":{"alert":"Message \(index)"}}}
        """
    }

    /// A request for one queue.
    func message(_ index: Int, to queue: String, body: String? = nil) -> Publication {
        var properties = MessageProperties()
        properties.contentType = Array("application/json".utf8)
        properties.messageID = Array(messageID(index).utf8)
        properties.replyTo = Array(replyTo.utf8)
        return Publication(
            routingKey: ArraySlice(queue.utf8), properties: properties,
            body: ArraySlice((body ?? Self.body(index)).utf8))
    }
}
