package import Core

/// Durations of requests and of their stages. Each time is the beginning of a turn of the loop.
package struct Timings: Sendable, Equatable {
    /// From a delivery's arrival to its settlement.
    package var request = Histogram()
    /// From the delivery's AMQP `timestamp` (whole seconds) to its arrival; only if it has one.
    package var queueWait = Histogram()
    /// From the handover of a notification to its pool until it is sent: the wait for a permit, a stream, a connection.
    package var limiterWait = Histogram()
    /// From sending a notification until the response of APNs.
    package var apns = Histogram()

    package init() {}

    /// Records the queue wait of a delivery with a timestamp. A timestamp in the future is ignored: a clock or the unit
    /// is wrong.
    mutating func arrived(_ delivery: borrowing Delivery, at now: WallTime) {
        guard let published = delivery.published(before: now), published <= now else { return }
        queueWait.record(nanoseconds: (now.milliseconds - published.milliseconds) * 1_000_000)
    }

    package mutating func add(_ other: Timings) {
        request.add(other.request)
        queueWait.add(other.queueWait)
        limiterWait.add(other.limiterWait)
        apns.add(other.apns)
    }
}
