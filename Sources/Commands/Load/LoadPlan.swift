import AMQP
import Core

/// The messages of a load run: the device, topic and payload of each.
struct LoadPlan: Sendable {
    enum Mix: String, CaseIterable, Sendable {
        /// Tokens that a simulator accepts.
        case accepted
        /// Mostly accepted, with dead, bad and slow tokens that the simulator recognizes by prefix, and a few invalid
        /// requests.
        case varied
    }

    let run: String
    let topic: String
    let mix: Mix
    /// The size of the text in each alert, in bytes.
    let bodySize: Int

    func request(_ index: Int, to queue: String, replyTo: String) -> Publication {
        var properties = MessageProperties()
        properties.contentType = Array("application/json".utf8)
        properties.messageID = Array(messageID(index).utf8)
        properties.replyTo = Array(replyTo.utf8)
        return Publication(routingKey: ArraySlice(queue.utf8), properties: properties, body: ArraySlice(body(index)))
    }

    /// The message id, which contains a message's index in request and result.
    func messageID(_ index: Int) -> String {
        "\(run)-\(index)"
    }

    /// The index from a message id; `nil` if it belongs to another run.
    func index(ofMessageID id: ArraySlice<UInt8>) -> Int? {
        let (prefix, text) = ("\(run)-", String(decoding: id, as: UTF8.self))
        return text.hasPrefix(prefix) ? Int(text.dropFirst(prefix.count)) : nil
    }

    /// The JSON envelope of a message. In a varied mix, a few percent are special cases.
    func body(_ index: Int) -> [UInt8] {
        // The simulator accepts a first digit of 7.
        var beginning = "7"
        if mix == .varied {
            switch index % 100 {
            case 13: return Array("{\"device-token\":\"\(deviceToken(index, beginning: beginning))\"}".utf8)
            case 31: return Array("this is not JSON".utf8)
            case 47: beginning = "dead"
            case 61, 62: beginning = "bad0"
            default: break
            }
        }
        let token = deviceToken(index, beginning: beginning)
        let text = String(repeating: "x", count: bodySize)
        return Array(
            """
            {"device-token":"\(token)","apns-topic":"\(topic)","apns-push-type":"alert","apns-priority":10,\
            "payload":{"aps":{"alert":{"title":"Load","body":"Message \(index) \(text)"},"sound":"default"}}}
            """.utf8)
    }

    /// 64 digits, different for each message.
    private func deviceToken(_ index: Int, beginning: String) -> String {
        var random = SplitMix64(seed: UInt64(truncatingIfNeeded: index))
        let digits = (0..<4).map { _ in
            let word = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
        return beginning + digits.dropFirst(beginning.count)
    }
}

extension RequestRun {
    convenience init(
        _ settings: Settings, _ plan: LoadPlan, at now: Instant, connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        try self.init(
            settings, at: now, connect: connect,
            request: { plan.request($0, to: settings.queue, replyTo: $1) },
            index: { $0.correlationID.flatMap { plan.index(ofMessageID: $0) } })
    }
}
