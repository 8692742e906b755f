import Configuration
import Core
import Decoding
import Logging

/// Payloads held to Apple's tables, if the configuration asks for it.
extension Dispatch {
    /// What is wrong with a notification's payload; `nil` if nothing is, or nobody asks.
    mutating func finding(in notification: Notification, at now: Moment) -> String? {
        guard settings.validation != .off, let isBroadcast = notification.isBroadcast else { return nil }
        let findings = PayloadCheck.findings(
            in: notification.payload, for: notification.pushType, isBroadcast: isBroadcast)
        guard !findings.isEmpty else { return nil }
        counters[.payloadFindings] += 1
        if settings.validation == .warn, let heldBack = findingLog.admit(at: now.instant) {
            let topic = notification.topic.map { String(decoding: $0, as: UTF8.self) } ?? ""
            log.warning(
                "a payload does not keep to Apple's tables; it is sent all the same",
                metadata: [
                    "topic": "\(topic)", "finding": "\(findings.detailForLog)",
                    "held_back": .stringConvertible(heldBack),
                ])
        }
        return findings.detail
    }
}

extension Notification {
    /// Whether what is true of another one's payload is true of this one's.
    ///
    /// Slices of one array are compared by their place, in no time.
    func isForPayload(of other: Notification) -> Bool {
        pushType == other.pushType && isBroadcast == other.isBroadcast && payload == other.payload
    }

    /// `nil` for requests about channels, whose payload is no notification's.
    fileprivate var isBroadcast: Bool? {
        switch target {
        case .device: false
        case .channel: true
        case .management: nil
        }
    }
}
