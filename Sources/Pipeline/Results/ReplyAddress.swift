import Core

/// What `reply_to` names.
enum ReplyAddress: Equatable {
    case none
    case queue(ArraySlice<UInt8>)
    /// An address of RabbitMQ that names no queue.
    case unusable

    static let complaint =
        "reply-to: an address that names no queue; expected a queue's name, or /queues/ and the percent-encoded name"

    /// - Parameter text: the name of a queue, or its address. Source: rabbitmq.com/docs/amqp#addresses.
    init(_ text: ArraySlice<UInt8>?) {
        guard let text, let first = text.first else {
            self = .none
            return
        }
        guard first == UInt8(ascii: "/") else {
            self = .queue(text)
            return
        }
        let prefix = "/queues/".utf8
        if text.starts(with: prefix), let name = Self.decoded(text.dropFirst(prefix.count)) {
            self = .queue(name)
        } else {
            let isAddress = ["/queues/", "/exchanges/", "/queue/", "/exchange/", "/topic/", "/amq/"].contains {
                text.starts(with: $0.utf8)
            }
            self = isAddress ? .unusable : .queue(text)
        }
    }

    /// - Returns: `nil` unless each percent sign begins a code, and the result fits a queue's name.
    private static func decoded(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        // A slash separates the parts of an address, so it is encoded in a name.
        guard !text.contains(UInt8(ascii: "/")), let name = PercentEncoding.decode(text) else { return nil }
        return 1...255 ~= name.count ? name[...] : nil
    }
}
