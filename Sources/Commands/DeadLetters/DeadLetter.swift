import AMQP
import Core

/// The information in the headers of a message in a dead-letter queue.
///
/// The headers come from a worker (`harebell-*`), from the broker (`x-death`), or are missing.
struct DeadLetter: Sendable, Equatable {
    enum Maker: String, Sendable {
        case harebell
        case broker
        /// The origin is unknown.
        case other
    }

    /// The longest accepted text of a header, in bytes; the limit of AMQP names.
    fileprivate static let longestText = 255

    let maker: Maker
    /// A name of ``Core/Outcome``; only set by workers.
    let outcome: String?
    /// From APNs or the broker: `rejected`, `expired`, `maxlen` or `delivery_limit`.
    let reason: String?
    /// The queue that it came from, the destination of a replay; `nil` if unknown.
    let queue: String?
    /// The original exchange and routing key, if they are not in `harebell-*` headers already.
    let exchange: ArraySlice<UInt8>?
    let routingKey: ArraySlice<UInt8>?
    let failedAt: WallTime?
    let replays: Int
    /// The last run that replayed it.
    let replayID: String?
    let apnsID: String?
    let messageID: String?

    /// - Parameter name: the dead-letter queue.
    init(_ delivery: Delivery, in name: String) {
        let death = Self.death(of: delivery, in: name)
        let origin = delivery.text("harebell-queue")
        outcome = delivery.text("harebell-outcome")
        maker = outcome != nil ? .harebell : death != nil ? .broker : .other
        reason = outcome != nil ? delivery.text("harebell-reason") : death?.text("reason")
        queue = origin ?? death?.text("queue")
        exchange = origin == nil ? death?.bytes("exchange") : nil
        routingKey = origin == nil ? death?.bytes("routing-keys") : nil
        failedAt = delivery.text("harebell-failed-at").flatMap { WallTime(rfc3339: $0.utf8) } ?? death?.time
        replays = Int(Int32(clamping: max(0, delivery.integer("harebell-replays") ?? 0)))
        replayID = delivery.text("harebell-replay-id")
        apnsID = delivery.text("harebell-apns-id")
        messageID = delivery.messageID.flatMap { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) }
    }

    /// Its id with a label; `nil` without an id.
    var name: String? {
        messageID.map { "message id \($0)" } ?? apnsID.map { "apns-id \($0)" }
    }

    /// The newest entry of `x-death` about another queue. `x-first-death-*` are ignored, because some brokers set them
    /// incorrectly.
    ///
    /// Source: rabbitmq.com/docs/dlx (effects on messages); newest first, one entry for each queue and reason.
    private static func death(of delivery: Delivery, in name: String) -> FieldTable? {
        // The headers of an archived message are only in its properties.
        guard delivery.headerCount == 0 || delivery.header("x-death") != nil,
            let properties = try? MessageProperties(decoding: delivery.rawProperties),
            case .array(let deaths)? = properties.headers?["x-death"]
        else { return nil }
        for case .table(let death) in deaths {
            if let queue = death.bytes("queue"), !queue.elementsEqual(name.utf8) { return death }
        }
        return nil
    }
}

/// An entry of `x-death`.
extension FieldTable {
    /// A text, or the first one of a list; `nil` if it is longer than an AMQP name may be.
    fileprivate func bytes(_ name: String) -> ArraySlice<UInt8>? {
        var value = self[name]
        if case .array(let values)? = value { value = values.first }
        guard case .text(let text)? = value, text.count <= DeadLetter.longestText else { return nil }
        return text[...]
    }

    fileprivate func text(_ name: String) -> String? {
        bytes(name).map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate var time: WallTime? {
        guard case .timestamp(let seconds)? = self["time"] else { return nil }
        return WallTime(timestamp: seconds)
    }
}

extension Delivery {
    fileprivate func text(_ name: StaticString) -> String? {
        guard case .text(let text)? = header(name), text.count <= DeadLetter.longestText else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    fileprivate func integer(_ name: StaticString) -> Int? {
        guard case .integer(let value)? = header(name) else { return nil }
        return Int(clamping: value)
    }
}
