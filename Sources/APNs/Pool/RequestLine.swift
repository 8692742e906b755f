package import Core

/// The requests that wait for a connection, in the order in which they go out.
///
/// First what is sent again, then the highest priority, each first in, first out; but a priority is passed over only so
/// often in a row. Where all three always wait, 26 of 35 requests are ``Priority/immediate``, 7 are
/// ``Priority/considerate`` and 2 are ``Priority/low``.
package struct RequestLine: Sendable {
    /// How many requests of a higher priority go first, in a row, while ``Priority/considerate`` waits.
    package static let consideratePatience = 4
    /// How many requests of a higher priority go first, in a row, while ``Priority/low`` waits; one more if both have
    /// waited for so long.
    package static let lowPatience = 16

    private var ahead = HandleQueue()
    private var immediate = HandleQueue()
    private var considerate = HandleQueue()
    private var low = HandleQueue()
    /// How many requests went past the first of each since it could have gone.
    private var passedConsiderate = 0
    private var passedLow = 0

    package init() {}

    package var count: Int {
        ahead.count + immediate.count + considerate.count + low.count
    }

    package var isEmpty: Bool {
        ahead.isEmpty && immediate.isEmpty && considerate.isEmpty && low.isEmpty
    }

    /// The request that goes next; without a request in between, it stays the same.
    // In line, because for the call the whole line would be copied.
    @inline(__always)
    package var first: Handle? {
        if let handle = ahead.first { return handle }
        if passedConsiderate >= Self.consideratePatience, let handle = considerate.first { return handle }
        if passedLow >= Self.lowPatience, let handle = low.first { return handle }
        return immediate.first ?? considerate.first ?? low.first
    }

    package func contains(_ handle: Handle) -> Bool {
        ahead.contains(handle) || immediate.contains(handle) || considerate.contains(handle) || low.contains(handle)
    }

    package mutating func append(_ handle: Handle, priority: Priority) {
        switch priority {
        case .immediate: immediate.append(handle)
        case .considerate:
            if considerate.isEmpty { passedConsiderate = 0 }
            considerate.append(handle)
        case .low:
            if low.isEmpty { passedLow = 0 }
            low.append(handle)
        }
    }

    /// Adds a request that had its turn already: it goes before all that had none.
    package mutating func appendAhead(_ handle: Handle) {
        ahead.append(handle)
    }

    /// Takes ``first`` out because it is sent.
    package mutating func popFirst() -> Handle? {
        guard let handle = first else { return nil }
        if ahead.contains(handle) {
            ahead.remove(handle)
            return handle
        }
        let isConsiderate = considerate.contains(handle)
        let isLow = !isConsiderate && low.contains(handle)
        passedConsiderate = isConsiderate || considerate.isEmpty ? 0 : passedConsiderate + 1
        passedLow = isLow || low.isEmpty ? 0 : passedLow + 1
        if isConsiderate {
            considerate.remove(handle)
        } else if isLow {
            low.remove(handle)
        } else {
            immediate.remove(handle)
        }
        return handle
    }

    /// Takes a request out that is not sent; nobody's turn comes sooner or later for it.
    package mutating func remove(_ handle: Handle) {
        if immediate.contains(handle) {
            immediate.remove(handle)
        } else if considerate.contains(handle) {
            considerate.remove(handle)
        } else if low.contains(handle) {
            low.remove(handle)
        } else {
            ahead.remove(handle)
        }
    }
}

/// All requests of a pool that wait, by what each of them waits for.
struct WaitingRequests {
    /// For any connection.
    var line = RequestLine()
    /// Probes, and requests whose provider token was refused: for a fresh connection.
    var rebinding = HandleQueue()
    /// For a device that APNs was asked for too often.
    var spacing: DeviceSpacing

    init(spacing: DeviceSpacing) {
        self.spacing = spacing
    }

    @inline(__always)
    var count: Int {
        line.count + rebinding.count + spacing.waitingCount
    }

    /// Adds a request that had its turn already: it goes before all that had none.
    mutating func append(sentBefore handle: Handle, toFreshConnection: Bool) {
        if toFreshConnection { rebinding.append(handle) } else { line.appendAhead(handle) }
    }

    /// Takes a request out that is not sent.
    ///
    /// - Returns: `false` if it does not wait.
    mutating func remove(_ handle: Handle, for target: Notification.Target) -> Bool {
        if line.contains(handle) {
            line.remove(handle)
        } else if rebinding.contains(handle) {
            rebinding.remove(handle)
        } else if case .device(let token) = target {
            return spacing.remove(handle, for: token)
        } else {
            return false
        }
        return true
    }

    /// Leaves no device alone any longer: what waited for one goes before all that had no turn yet.
    mutating func stopSpacing() {
        for handle in spacing.removeAll() { line.appendAhead(handle) }
    }
}
