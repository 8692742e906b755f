import AMQP
package import Core

/// What a message in a dead-letter queue says about itself.
///
/// There are three makers: our workers (`harebell-*` headers), the broker (`x-death`), and consumers that say nothing.
package struct DeadLetter: Sendable, Equatable {
    package enum Maker: String, Sendable {
        case harebell
        case broker
        /// Nobody knows where it came from.
        case other
    }

    /// The longest text of a header that is taken, in bytes; AMQP's names are no longer.
    private static let longestText = 255

    package let maker: Maker
    /// One of ``Core/Outcome``'s names; only a worker says it.
    package let outcome: String?
    package let status: Int?
    /// APNs's, or the broker's: `rejected`, `expired`, `maxlen` or `delivery_limit`.
    package let reason: String?
    /// Where it was before: a replay goes there. `nil` where nobody says it.
    package let queue: String?
    /// What it was published with, if it does not say so in headers of ours already.
    package let exchange: ArraySlice<UInt8>?
    package let routingKey: ArraySlice<UInt8>?
    package let failedAt: WallTime?
    package let replays: Int
    /// Which run replayed it last.
    package let replayID: String?
    /// How often a quorum queue has delivered it before; 0 elsewhere.
    package let deliveries: Int
    package let apnsID: String?
    package let messageID: String?

    /// - Parameter name: the queue that it lies in.
    package init(_ delivery: Delivery, in name: String) {
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
        deliveries = max(0, delivery.integer("x-delivery-count") ?? 0)
        apnsID = delivery.text("harebell-apns-id")
        messageID = delivery.messageID.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Its id in words; `nil` if it does not have one.
    package var name: String? {
        messageID.map { "message id \($0)" } ?? apnsID.map { "apns-id \($0)" }
    }

    /// The newest entry of `x-death` about another queue. `x-first-death-*` are not looked at: some brokers get them
    /// wrong.
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
