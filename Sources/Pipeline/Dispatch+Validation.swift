import Configuration
import Core
import Decoding
import Logging

/// Validates payloads against Apple's tables if the configuration enables it.
extension Dispatch {
    /// The violations of Apple's tables in a payload; `nil` if there are none or validation is off.
    mutating func finding(in notification: Notification, of request: InFlightRequest, at now: Moment) -> String? {
        guard settings.validation != .off, let isBroadcast = notification.isBroadcast else { return nil }
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

extension Notification {
    /// Whether a finding about the other notification's payload also applies to this one.
    ///
    /// Slices of one array compare by address, so this is fast.
    func isForPayload(of other: Notification) -> Bool {
        pushType == other.pushType && isBroadcast == other.isBroadcast && payload == other.payload
    }

    /// Whether the app and topic of the other notification are also those of this one.
    func isForApp(of other: Notification) -> Bool {
        pushType == other.pushType && isBroadcast == other.isBroadcast && environment == other.environment
            && topic == other.topic
    }

    /// `nil` for channel management, whose payload is not a notification.
    fileprivate var isBroadcast: Bool? {
        switch target {
        case .device: false
        case .channel: true
        case .management: nil
        }
    }
}
