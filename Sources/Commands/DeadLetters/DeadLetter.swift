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
    private static let longestText = 255

    let maker: Maker
    /// A name of ``Core/Outcome``; only set by workers.
    let outcome: String?
    let status: Int?
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
        let death = BrokerDeath(delivery, in: name)
        let origin = delivery.text("harebell-queue")
        outcome = delivery.text("harebell-outcome")
        maker = outcome != nil ? .harebell : death != nil ? .broker : .other
        status = delivery.integer("harebell-status")
        reason = outcome != nil ? delivery.text("harebell-reason") : death?.reason
        queue = origin ?? death?.queue
        exchange = origin == nil ? death?.exchange : nil
        routingKey = origin == nil ? death?.routingKey : nil
        failedAt = delivery.text("harebell-failed-at").flatMap { WallTime(rfc3339: $0) } ?? death?.time
        replays = max(0, delivery.integer("harebell-replays") ?? 0)
        replayID = delivery.text("harebell-replay-id")
        apnsID = delivery.text("harebell-apns-id")
        messageID = delivery.messageID.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Its id with a label; `nil` without an id.
    var name: String? {
        messageID.map { "message id \($0)" } ?? apnsID.map { "apns-id \($0)" }
    }

    /// The newest entry of `x-death` about another queue. `x-first-death-*` are ignored, because some brokers set them
    /// incorrectly.
    ///
    /// Source: rabbitmq.com/docs/dlx (effects on messages); newest first, one entry for each queue and reason.
    private struct BrokerDeath {
        var queue: String?
        var reason: String?
        var time: WallTime?
        var exchange: ArraySlice<UInt8>?
        var routingKey: ArraySlice<UInt8>?

        init?(_ delivery: Delivery, in name: String) {
            guard delivery.header("x-death") != nil else { return nil }
            let properties: MessageProperties
            do {
                properties = try MessageProperties(decoding: delivery.rawProperties)
            } catch {
                return nil
            }
            guard case .array(let deaths)? = properties.headers?["x-death"] else { return nil }
            for case .table(let death) in deaths {
                guard case .text(let queue)? = death["queue"], queue.count <= longestText,
                    !queue.elementsEqual(name.utf8)
                else { continue }
                self.queue = String(decoding: queue, as: UTF8.self)
                if case .text(let text)? = death["reason"] {
                    reason = String(decoding: text.prefix(longestText), as: UTF8.self)
                }
                if case .timestamp(let seconds)? = death["time"] {
                    time = WallTime(
                        milliseconds: Int64(clamping: seconds.multipliedReportingOverflow(by: 1000).partialValue))
                }
                if case .text(let text)? = death["exchange"], text.count <= longestText { exchange = text[...] }
                if case .array(let keys)? = death["routing-keys"], case .text(let key)? = keys.first,
                    key.count <= longestText
                {
                    routingKey = key[...]
                }
                return
            }
            return nil
        }
    }
}

extension Delivery {
    fileprivate func text(_ name: StaticString) -> String? {
        guard case .text(let text)? = header(name), text.count <= 255 else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    fileprivate func integer(_ name: StaticString) -> Int? {
        guard case .integer(let value)? = header(name) else { return nil }
        return Int(clamping: value)
    }
}
