package import Core

/// A worker's totals since its start, and what it holds. Plain numbers, because a worker is one thread.
package struct PipelineCounters: Sendable {
    package enum Name: Int, CaseIterable, Sendable {
        /// Tries in this process after a failure.
        case retries
        /// Notifications put into retry queues.
        case parked
        /// Notifications put into retry queues without being sent, because APNs throttles their device.
        case throttledNotifications
        /// Throttled devices that were forgotten early because there were too many.
        case throttledDeviceLimitHits
        /// Deliveries returned to their queue unsent: no app could send, or the worker drained.
        case requeued
        /// How often the worker stopped consuming because no app could send.
        case suspensions
        /// Redeliveries of requests that this worker had finished or had in flight.
        case duplicatesAvoided
        /// Tries that APNs may or may not have processed.
        case uncertain
        case ignored
        /// Payloads that violate Apple's tables; the payload of a fan-out counts once.
        case payloadFindings
        case deadLetters
        /// Publishes that the broker could not route to a queue.
        case returned
        case refusedPublishes
        /// Results sent elsewhere because their destination did not take them in time.
        case divertedResults
        /// Publishes that were removed because the broker closes the connection when it receives them.
        case quarantined
        /// Responses without a reason, or with one that Apple does not document.
        case unknownReasons
    }

    private var counts = [UInt64](repeating: 0, count: Name.allCases.count)
    /// Deliveries received, by queue.
    package var deliveries: [UInt64]
    /// Notifications ended, by the raw value of their outcome.
    package var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
    /// Messages beyond a limit of decoding, by the raw value of ``DecodingLimit``.
    package var decodingLimits = [UInt64](repeating: 0, count: DecodingLimit.allCases.count)
    package var unsettled = 0
    /// Publishes without a confirm, including those that wait for a connection.
    package var unconfirmed = 0

    package init(queues: Int) {
        deliveries = Array(repeating: 0, count: queues)
    }

    package subscript(name: Name) -> UInt64 {
        get { counts[name.rawValue] }
        set { counts[name.rawValue] = newValue }
    }

    package subscript(outcome: Outcome) -> UInt64 {
        outcomes[Int(outcome.rawValue)]
    }

    /// Adds what another part of the worker, or another worker, counted.
    package mutating func add(_ other: PipelineCounters) {
        for counters in [\Self.counts, \.deliveries, \.outcomes, \.decodingLimits] {
            for index in self[keyPath: counters].indices {
                self[keyPath: counters][index] += other[keyPath: counters][index]
            }
        }
        unsettled += other.unsettled
        unconfirmed += other.unconfirmed
    }
}
