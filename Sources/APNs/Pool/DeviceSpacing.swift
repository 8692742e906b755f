package import Core
import DequeModule

/// Devices that APNs was asked for too often (429 `TooManyRequests`), and the requests that wait for them.
///
/// For ``interval`` after the refusal nothing is sent to the device, then one request in each interval until none
/// waits. Other devices are not held up.
package struct DeviceSpacing {
    package enum Hold: Equatable, Sendable {
        /// The device is not left alone.
        case none
        /// The request waits, and is given back by ``DeviceSpacing/release(at:)``.
        case held
        /// As many requests wait for the device as may.
        case crowded
    }

    private struct Device {
        var until: Instant
        /// Handles, the oldest first.
        var waiting: [Handle] = []
    }

    package let interval: Duration
    /// When so many devices are held back, the one that was for longest is let go.
    package let maximumDevices: Int
    /// The most requests that wait for one device: the others' owners have room and time of their own for them.
    package let maximumWaiting: Int

    private var devices: [DeviceToken: Device] = [:]
    /// By ``Device/until``: all wait for equally long. The first is true; others may have been followed by a later one
    /// of the same device.
    private var order = Deque<(token: DeviceToken, until: Instant)>()
    /// Requests that wait.
    package private(set) var waitingCount = 0

    package init(interval: Duration, maximumDevices: Int, maximumWaiting: Int) {
        precondition(
            interval > .zero && maximumDevices > 0 && maximumWaiting > 0,
            "spacing takes time, and somebody to be spaced")
        self.maximumWaiting = maximumWaiting
        self.interval = interval
        self.maximumDevices = maximumDevices
    }

    /// Whether no device is held back: then there is nothing to ask.
    package var isEmpty: Bool {
        devices.isEmpty
    }

    /// Devices that are held back.
    package var count: Int {
        devices.count
    }

    /// When ``release(at:)`` has something to do.
    package var nextDeadline: Instant? {
        order.first?.until
    }

    /// APNs was asked for this device too often.
    ///
    /// - Returns: Whether another device had to make room for this one, and the requests that waited for it.
    package mutating func refused(_ token: DeviceToken, at now: Instant) -> (madeRoom: Bool, released: [Handle]) {
        var released: [Handle] = []
        let makesRoom = devices[token] == nil && devices.count == maximumDevices
        if makesRoom, let oldest = order.first { released = forget(oldest.token) }
        waitingCount -= released.count
        rest(token, at: now)
        return (makesRoom, released)
    }

    /// - Returns: Whether the request has to wait.
    package mutating func hold(_ handle: Handle, for token: DeviceToken) -> Hold {
        guard let device = devices[token] else { return .none }
        guard device.waiting.count < maximumWaiting else { return .crowded }
        devices[token]?.waiting.append(handle)
        waitingCount += 1
        return .held
    }

    /// Takes back a request that waits.
    ///
    /// - Returns: `false` if it does not.
    package mutating func remove(_ handle: Handle, for token: DeviceToken) -> Bool {
        guard let index = devices[token]?.waiting.firstIndex(of: handle) else { return false }
        devices[token]?.waiting.remove(at: index)
        waitingCount -= 1
        return true
    }

    /// The next request whose time has come.
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

    /// Everything that waits, for whatever device.
    package mutating func removeAll() -> [Handle] {
        var handles: [Handle] = []
        while let oldest = order.first { handles += forget(oldest.token) }
        waitingCount = 0
        return handles
    }

    /// Leaves a device alone from now on.
    private mutating func rest(_ token: DeviceToken, at now: Instant) {
        let until = now + interval
        devices[token, default: Device(until: until)].until = until
        order.append((token, until))
        dropStale()
    }

    /// - Returns: What waited for the device.
    private mutating func forget(_ token: DeviceToken) -> [Handle] {
        let device = devices.removeValue(forKey: token)
        dropStale()
        return device?.waiting ?? []
    }

    private mutating func dropStale() {
        while let (token, until) = order.first, devices[token]?.until != until { order.removeFirst() }
    }
}
