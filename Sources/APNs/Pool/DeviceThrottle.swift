package import Core
import DequeModule

/// Throttles devices for which APNs returned 429 `TooManyRequests`, and holds their requests.
///
/// For ``interval`` after the refusal nothing is sent to the device. Then one request per interval is sent until none
/// waits. Other devices are not delayed.
package struct DeviceThrottle {
    package enum Hold: Equatable, Sendable {
        /// The device is not throttled.
        case none
        /// The request waits; ``DeviceThrottle/release(at:)`` returns it.
        case held
        /// The device's queue is full.
        case queueFull
    }

    private struct Device {
        var until: Instant
        /// Handles, oldest first.
        var waiting: [Handle] = []
    }

    package let interval: Duration
    /// Beyond this number of throttled devices, the oldest is released.
    package let maximumDevices: Int
    /// The maximum number of waiting requests per device. It keeps one device from using up the owner's capacity.
    package let maximumWaiting: Int

    private var devices: [DeviceToken: Device] = [:]
    /// Ordered by ``Device/until``, because all intervals are equal. The first entry is current; others may have been
    /// superseded by a later one of the same device.
    private var order = Deque<(token: DeviceToken, until: Instant)>()
    /// The number of waiting requests.
    package private(set) var waitingCount = 0

    package init(interval: Duration, maximumDevices: Int, maximumWaiting: Int) {
        precondition(
            interval > .zero && maximumDevices > 0 && maximumWaiting > 0,
            "a device throttle needs a positive delay and capacity")
        self.maximumWaiting = maximumWaiting
        self.interval = interval
        self.maximumDevices = maximumDevices
    }

    /// Whether no device is throttled.
    package var isEmpty: Bool {
        devices.isEmpty
    }

    /// The number of throttled devices.
    package var count: Int {
        devices.count
    }

    /// When ``release(at:)`` has something to do.
    package var nextDeadline: Instant? {
        order.first?.until
    }

    /// APNs returned `TooManyRequests` for this device.
    ///
    /// - Returns: Whether another device was released to make room, and its waiting requests.
    package mutating func refused(_ token: DeviceToken, at now: Instant) -> (madeRoom: Bool, released: [Handle]) {
        var released: [Handle] = []
        let makesRoom = devices[token] == nil && devices.count == maximumDevices
        if makesRoom, let oldest = order.first { released = forget(oldest.token) }
        waitingCount -= released.count
        rest(token, at: now)
        return (makesRoom, released)
    }

    /// - Returns: Whether the request must wait.
    package mutating func hold(_ handle: Handle, for token: DeviceToken) -> Hold {
        guard let device = devices[token] else { return .none }
        guard device.waiting.count < maximumWaiting else { return .queueFull }
        devices[token]?.waiting.append(handle)
        waitingCount += 1
        return .held
    }

    /// Removes a waiting request.
    ///
    /// - Returns: `false` if it is not waiting.
    package mutating func remove(_ handle: Handle, for token: DeviceToken) -> Bool {
        guard let index = devices[token]?.waiting.firstIndex(of: handle) else { return false }
        devices[token]?.waiting.remove(at: index)
        waitingCount -= 1
        return true
    }

    /// The next request whose interval is over.
    package mutating func release(at now: Instant) -> Handle? {
        while let (token, until) = order.first, until <= now {
            guard let next = devices[token]?.waiting.first else {
                _ = forget(token)
                continue
            }
            devices[token]?.waiting.removeFirst()
            rest(token, at: now)
            waitingCount -= 1
            return next
        }
        return nil
    }

    /// Removes all waiting requests of all devices.
    package mutating func removeAll() -> [Handle] {
        var handles: [Handle] = []
        while let oldest = order.first { handles += forget(oldest.token) }
        waitingCount = 0
        return handles
    }

    /// Throttles a device from now on.
    private mutating func rest(_ token: DeviceToken, at now: Instant) {
        let until = now + interval
        devices[token, default: Device(until: until)].until = until
        order.append((token, until))
        dropStale()
    }

    /// - Returns: The device's waiting requests.
    private mutating func forget(_ token: DeviceToken) -> [Handle] {
        let device = devices.removeValue(forKey: token)
        dropStale()
        return device?.waiting ?? []
    }

    private mutating func dropStale() {
        while let (token, until) = order.first, devices[token]?.until != until { order.removeFirst() }
    }
}
