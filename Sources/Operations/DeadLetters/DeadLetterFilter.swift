package import Configuration
package import Core
import Decoding

/// Which dead letters are meant: those for which everything holds that is said here.
package struct DeadLetterFilter: Sendable {
    /// Any of these; empty for all.
    package var outcomes: [String] = []
    /// Any of these; empty for all.
    package var reasons: [String] = []
    package var topic: String?
    /// What failed before does not match, nor what does not say when.
    package var since: WallTime?
    /// What failed then or later does not match, nor what does not say when.
    package var until: WallTime?
    /// The queue that it was in before.
    package var origin: String?
    /// An `apns-id` or a message id.
    package var id: String?

    package init() {}

    /// Whether everything matches.
    package var isEmpty: Bool {
        outcomes.isEmpty && reasons.isEmpty && topic == nil && since == nil && until == nil && origin == nil
            && id == nil
    }

    /// - Parameter reader: finds the topic where one is asked for.
    package func matches(_ letter: DeadLetter, _ delivery: Delivery, _ reader: RequestReader) -> Bool {
        guard outcomes.isEmpty || letter.outcome.map(outcomes.contains) == true,
            reasons.isEmpty || letter.reason.map(reasons.contains) == true,
            origin == nil || letter.queue == origin,
            id == nil || letter.apnsID == id || letter.messageID == id
        else { return false }
        if let since, letter.failedAt.map({ $0 < since }) ?? true { return false }
        if let until, letter.failedAt.map({ $0 >= until }) ?? true { return false }
        return topic == nil || reader.topic(of: delivery, from: letter.queue) == topic
    }
}

/// Reads a dead letter as the request that it was.
package struct RequestReader: Sendable {
    private let decoders: [String: any Decoder]
    private let standard: any Decoder = AutoDecoder()
    private let onlyTopic: String?
    private let maximumMessage: Int

    package init(_ configuration: Configuration) {
        maximumMessage = configuration.broker.maximumMessage
        let known = DecoderSet(configuration)
        var decoders: [String: any Decoder] = [:]
        for queue in configuration.queues { decoders[queue.name] = known[queue.decoder] }
        self.decoders = decoders
        onlyTopic = configuration.apps.count == 1 ? configuration.apps[0].topic : nil
    }

    /// - Parameter queue: where it was before, whose decoder is taken.
    /// - Returns: `nil` if it is no request.
    package func request(of delivery: Delivery, from queue: String?) -> Request? {
        let decoder = queue.flatMap { decoders[$0] } ?? standard
        guard let delivery = try? delivery.decompressed(limit: maximumMessage),
            case .request(let request) = decoder.decode(delivery, at: Self.afterAllWaiting)
        else { return nil }
        return request
    }

    /// The end of the year 9999: whatever was to wait has waited by then.
    private static let afterAllWaiting = WallTime(milliseconds: 253_402_300_799_999)

    /// The topic by its header, else by the body, else the only app's.
    package func topic(of delivery: Delivery, from queue: String?) -> String? {
        if case .text(let text)? = delivery.header("apns-topic") { return String(decoding: text, as: UTF8.self) }
        guard let request = request(of: delivery, from: queue) else { return nil }
        return request.notifications.first?.topic.map { String(decoding: $0, as: UTF8.self) } ?? onlyTopic
    }
}
