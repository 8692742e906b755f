package import Core

/// How long requests, and the parts of them, took. Every time is that at which a turn of the loop began.
package struct Timings: Sendable, Equatable {
    /// From a delivery's arrival to its settlement.
    package var request = Histogram()
    /// From the delivery's AMQP `timestamp`, which is in whole seconds, to its arrival; only where it has one.
    package var queueWait = Histogram()
    /// From when a notification is handed to its pool until it is sent: for a permit, a stream, a connection.
    package var limiterWait = Histogram()
    /// From when a notification is sent until APNs has answered.
    package var apns = Histogram()

    package init() {}

    /// A delivery arrived that may say when it was published. A time that is still to come says nothing: a clock is
    /// wrong, or the unit.
    mutating func arrived(_ delivery: borrowing Delivery, at now: WallTime) {
        guard let timestamp = delivery.timestamp, timestamp <= UInt64(max(now.seconds, 0)) else { return }
        queueWait.record(nanoseconds: (now.milliseconds - Int64(timestamp) * 1000) * 1_000_000)
    }

    /// Adds what another worker measured.
    package mutating func add(_ other: Timings) {
        request.add(other.request)
        queueWait.add(other.queueWait)
        limiterWait.add(other.limiterWait)
        apns.add(other.apns)
    }
}
