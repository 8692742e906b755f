package import Core

/// Devices that APNs was asked for too often (429 `TooManyRequests`), and the requests that wait for them.
///
/// For ``interval`` after the refusal nothing is sent to the device, then one request in each interval until none waits.
/// Other devices are not held up.
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
        let token: DeviceToken
        var until: Instant
        /// Tickets, the oldest first.
        var waiting: [UInt32] = []
    }

    package let interval: Duration
    /// When so many devices are held back, the one that was for longest is let go.
    package let maximumDevices: Int
    /// The most requests that wait for one device: the others' owners have room and time of their own for them.
    package let maximumWaiting: Int

    private var devices = Slab<Device>()
    private var slots: [DeviceToken: UInt32] = [:]
    /// By ``Device/until``: all wait for equally long.
    private var order = HandleQueue()
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
        devices.count == 0
    }

    /// Devices that are held back.
    package var count: Int {
        devices.count
    }

    /// When ``release(at:)`` has something to do.
    package var nextDeadline: Instant? {
        order.first.map { devices[$0].until }
    }

    /// APNs was asked for this device too often.
    ///
    /// - Returns: Whether another device had to make room for this one, and the requests that waited for it.
    package mutating func refused(_ token: DeviceToken, at now: Instant) -> (madeRoom: Bool, released: [UInt32]) {
        if let slot = slots[token] {
            order.remove(slot)
            devices.update(slot) { $0.until = now + interval }
            order.append(slot)
            return (false, [])
        }
        var released: [UInt32] = []
        let isFull = devices.count == maximumDevices
        if isFull, let oldest = order.first { released = forget(oldest).waiting }
        waitingCount -= released.count
        let slot = devices.insert(Device(token: token, until: now + interval))
        slots[token] = slot
        order.append(slot)
        return (isFull, released)
    }

    /// - Returns: Whether the request has to wait.
    package mutating func hold(_ ticket: UInt32, for token: DeviceToken) -> Hold {
        guard let slot = slots[token] else { return .none }
        guard devices[slot].waiting.count < maximumWaiting else { return .crowded }
        devices.update(slot) { $0.waiting.append(ticket) }
        waitingCount += 1
        return .held
    }

    /// Takes back a request that waits.
    ///
    /// - Returns: `false` if it does not.
    package mutating func remove(_ ticket: UInt32, for token: DeviceToken) -> Bool {
        guard let slot = slots[token], let index = devices[slot].waiting.firstIndex(of: ticket) else { return false }
        devices.update(slot) { _ = $0.waiting.remove(at: index) }
        waitingCount -= 1
        return true
    }

    /// The next request whose time has come.
    package mutating func release(at now: Instant) -> UInt32? {
        while let slot = order.first, devices[slot].until <= now {
            guard !devices[slot].waiting.isEmpty else {
                _ = forget(slot)
                continue
            }
            order.remove(slot)
            order.append(slot)
            waitingCount -= 1
            return devices.update(slot) {
                $0.until = now + interval
                return $0.waiting.removeFirst()
            }
        }
        return nil
    }

    /// Everything that waits, for whatever device.
    package mutating func removeAll() -> [UInt32] {
        var tickets: [UInt32] = []
        while let slot = order.first { tickets += forget(slot).waiting }
        waitingCount = 0
        return tickets
    }

    private mutating func forget(_ slot: UInt32) -> Device {
        order.remove(slot)
        let device = devices.remove(slot)
        slots[device.token] = nil
        return device
    }
}
