import Core
import DequeModule

/// The devices for which APNs returned 429 `TooManyRequests` a short time ago. Until the time is over, nothing is sent
/// to them.
struct ThrottledDevices {
    /// Beyond this number the device that was throttled first is forgotten.
    static let maximumCount = 10_000

    private var ends: [DeviceToken: Instant] = [:]
    /// Every device once, in the order in which they were throttled. A device that was throttled again may be ahead of
    /// its turn.
    private var order = Deque<DeviceToken>()

    var isEmpty: Bool { ends.isEmpty }

    /// - Returns: whether another device was forgotten to make room.
    mutating func throttle(_ device: DeviceToken, until end: Instant, at now: Instant) -> Bool {
        forgetEnded(at: now)
        let device = device.copy
        guard ends.updateValue(end, forKey: device) == nil else { return false }
        order.append(device)
        guard order.count > Self.maximumCount else { return false }
        ends[order.removeFirst()] = nil
        return true
    }

    mutating func contains(_ device: DeviceToken, at now: Instant) -> Bool {
        forgetEnded(at: now)
        return ends[device].map { $0 > now } ?? false
    }

    private mutating func forgetEnded(at now: Instant) {
        while let first = order.first, let end = ends[first], end <= now {
            order.removeFirst()
            ends[first] = nil
        }
    }
}
