import Configuration
import Core
import Decoding
import Logging

/// Validates payloads against Apple's tables if the configuration enables it.
extension Dispatch {
    /// The violations of Apple's tables in a payload; `nil` if there are none or validation is off.
    mutating func finding(in notification: Notification, of request: InFlightRequest, at now: Moment) -> String? {
        guard settings.validation != .off, let isBroadcast = notification.target.isBroadcast else { return nil }
        let findings = PayloadCheck.findings(
            in: notification.payload, for: notification.pushType, isBroadcast: isBroadcast)
        guard !findings.isEmpty else { return nil }
        counters[.payloadFindings] += 1
        if settings.validation == .warn, let heldBack = findingLog.admit(at: now.instant) {
            let topic = notification.topic.map { String(decoding: $0, as: UTF8.self) } ?? ""
            log.warning(
                "a payload deviates from Apple's tables; it is sent anyway",
                metadata: request.delivery.traced(
                    [
                        "topic": "\(topic)", "finding": "\(findings.detailForLog)",
                        "held_back": .stringConvertible(heldBack),
                    ]))
        }
        return findings.detail
    }
}

extension [Notification] {
    /// Whether payload, app and topic of both lead to the same checks.
    ///
    /// Slices of one array compare by address, so this is fast. It compares fields in place, because a copy of each
    /// notification would cost more.
    func shareChecks(_ one: Int, _ other: Int) -> Bool {
        self[one].pushType == self[other].pushType && self[one].target.isBroadcast == self[other].target.isBroadcast
            && self[one].environment == self[other].environment && self[one].topic == self[other].topic
            && self[one].payload == self[other].payload
    }
}

extension Notification.Target {
    /// `nil` for channel management, whose payload is not a notification.
    fileprivate var isBroadcast: Bool? {
        switch self {
        case .device: false
        case .channel: true
        case .management: nil
        }
    }
}
