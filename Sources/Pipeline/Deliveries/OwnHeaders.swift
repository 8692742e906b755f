import AMQP
import Configuration
package import Core

/// Decides which `harebell-*` headers of a delivery a worker trusts.
///
/// Producers can write them too. A worker trusts a header only in a replay or in a copy from a retry queue of the same
/// request queue. The value must also be one that such a copy can have. The worker removes all others on arrival, so
/// neither the decoder nor a copy of the message has them. Producers can also forge `x-death`. A forged header that
/// passes affects only that producer's messages.
package struct OwnHeaders {
    private static let prefix: StaticString = "harebell-"
    /// The end of the year 9999, in milliseconds since 1970.
    private static let latestTime: Int64 = 253_402_300_799_999
    /// The longest short string, such as a queue name or an exchange name.
    private static let longestName = 255

    private let queues: [PipelineQueue]

    package init(_ settings: PipelineSettings) {
        queues = settings.queues
    }

    /// The delivery without untrusted headers.
    package func screened(_ delivery: Delivery) -> Delivery {
        guard delivery.hasHeader(beginningWith: Self.prefix) else { return delivery }
        let source = Source(delivery, queue: queues[delivery.queue.index].name)
        var dropped: Set<ArraySlice<UInt8>> = []
        delivery.forEachHeader { name, value in
            guard let own = name.dropping(Self.prefix) else { return }
            if !isTrusted(String(decoding: own, as: UTF8.self), value, source) { dropped.insert(name) }
        }
        guard !dropped.isEmpty else { return delivery }
        return delivery.removingHeaders(dropped, rawProperties: Self.properties(of: delivery, without: dropped))
    }

    /// - Returns: `nil` for properties that cannot be read. ``Republishing`` does not copy those.
    private static func properties(of delivery: Delivery, without names: Set<ArraySlice<UInt8>>) -> [UInt8]? {
        guard var properties = try? MessageProperties(decoding: delivery.rawProperties) else { return nil }
        properties.headers?.entries.removeAll { names.contains($0.name[...]) }
        return try? properties.encoded()
    }

    /// The origin of a delivery according to its headers.
    private struct Source {
        /// The broker dead-lettered it from a retry queue of the queue that it was delivered from.
        let isRetry: Bool
        /// A run replayed it, or an operator moved the dead letter without a change.
        let isReplay: Bool

        init(_ delivery: Delivery, queue: String) {
            let parkings = delivery.header("harebell-parked")
            isRetry = isInteger(parkings, from: 1) && Self.cameFromRetryQueue(delivery, of: queue)
            let replays = delivery.header("harebell-replays")
            isReplay =
                isInteger(replays, from: 1) && isUUID(delivery.header("harebell-replay-id"))
                || isInteger(replays, from: 0) && isTime(delivery.header("harebell-failed-at"))
        }

        /// Source: rabbitmq.com/docs/dlx (effects on messages).
        private static func cameFromRetryQueue(_ delivery: Delivery, of queue: String) -> Bool {
            guard let properties = try? MessageProperties(decoding: delivery.rawProperties),
                case .array(let deaths)? = properties.headers?["x-death"]
            else { return false }
            return deaths.contains { death in
                guard case .table(let death) = death, case .text(let name)? = death["queue"],
                    case .text(let reason)? = death["reason"]
                else { return false }
                return reason.equals("expired") && RetryQueueName.matches(name, queue: queue)
            }
        }
    }

    /// - Parameter name: without the prefix.
    private func isTrusted(_ name: String, _ value: Delivery.HeaderValue, _ source: Source) -> Bool {
        switch name {
        case "parked", "deferred": source.isRetry && isInteger(value, from: 0)
        // `retry.max_attempts` may have been higher, but not more than 100.
        case "attempts": source.isRetry && isInteger(value, from: 0, to: 99)
        case "processed": source.isRetry && [Processed.yes, .unknown].contains { isText(value, $0.name) }
        case "expires-at": source.isRetry && isInteger(value, from: 0, to: Self.latestTime)
        default: (source.isRetry || source.isReplay) && isOfReplay(name, value)
        }
    }

    /// Headers of replays, and of retry copies.
    private func isOfReplay(_ name: String, _ value: Delivery.HeaderValue) -> Bool {
        switch (name, value) {
        case ("queue", .text(let text)): queues.contains { text.elementsEqual($0.name.utf8) }
        case ("exchange", .text(let text)), ("routing-key", .text(let text)), ("orig-expiration", .text(let text)),
            ("orig-user-id", .text(let text)):
            text.count <= Self.longestName
        case ("first-seen", _): isTime(value)
        // The pipeline checks length and digits against the request.
        case ("done", .text), ("orig-cc", _): true
        case ("replays", _): isInteger(value, from: 0)
        case ("replay-id", _), ("apns-id", _): isUUID(value)
        default: false
        }
    }
}

private func isInteger(_ value: Delivery.HeaderValue?, from least: Int64, to most: Int64 = Int64(Int32.max)) -> Bool {
    if case .integer(let integer)? = value { least <= integer && integer <= most } else { false }
}

private func isText(_ value: Delivery.HeaderValue, _ expected: StaticString) -> Bool {
    if case .text(let text) = value { text.equals(expected) } else { false }
}

private func isTime(_ value: Delivery.HeaderValue?) -> Bool {
    if case .text(let text)? = value { WallTime(rfc3339: text) != nil } else { false }
}

private func isUUID(_ value: Delivery.HeaderValue?) -> Bool {
    if case .text(let text)? = value { NotificationID(text) != nil } else { false }
}

extension ArraySlice<UInt8> {
    /// The bytes after a prefix; `nil` if the prefix is missing.
    fileprivate func dropping(_ prefix: StaticString) -> ArraySlice<UInt8>? {
        self.prefix(prefix.utf8CodeUnitCount).equals(prefix) ? dropFirst(prefix.utf8CodeUnitCount) : nil
    }
}
