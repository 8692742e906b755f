import Core
import Decoding
import Logging

/// Validates payloads against Apple's tables.
extension Dispatch {
    /// The violations of Apple's tables in a payload; `nil` if there are none.
    mutating func finding(in notification: Notification, of request: InFlightRequest) -> String? {
        guard let findings = PayloadCheck.findings(in: notification), !findings.isEmpty else { return nil }
        counters[.payloadFindings] += 1
        let topic = notification.topic.map { String(decoding: $0, as: UTF8.self) } ?? ""
        log.warning(
            "a payload deviates from Apple's tables; it is sent anyway",
            metadata: request.delivery.traced(["topic": "\(topic)", "finding": "\(findings.detailForLog)"]))
        return findings.detail
    }
}

extension Notification {
    /// Whether payload, app and topic of both lead to the same checks.
    ///
    /// The notifications of a fan-out usually have one content. Slices of one array compare by address, so that the
    /// rest is fast, too.
    func sharesChecks(with other: borrowing Notification) -> Bool {
        guard target.isDevice == other.target.isDevice else { return false }
        let (one, other) = (content, other.content)
        return one === other
            || one.pushType == other.pushType && one.environment == other.environment && one.topic == other.topic
                && one.payload == other.payload
    }
}

extension Notification.Target {
    fileprivate var isDevice: Bool {
        if case .device = self { true } else { false }
    }
}
