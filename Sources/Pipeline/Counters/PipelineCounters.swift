package import Core

/// What a worker has done since it started, and what it holds. Plain numbers: a worker is one thread.
package struct PipelineCounters: Sendable {
    package enum Name: Int, CaseIterable, Sendable {
        /// Tries in this process after short or long trouble.
        case retries
        /// Notifications put into retry queues.
        case parked
        /// Requests put into retry queues because what they waited for took too long.
        case heldTooLong
        /// Deliveries given back unsent, because no app could send.
        case requeued
        /// How often consuming was stopped for that.
        case suspensions
        /// Redeliveries of requests that were finished, or still in flight, here.
        case duplicatesAvoided
        /// Tries that APNs may or may not have worked on.
        case uncertain
        case ignored
        /// Messages that their decoder, or their `not-before`, put off.
        case deferred
        /// Payloads that do not keep to Apple's tables; that of a fan-out counts once.
        case payloadFindings
        case deadLetters
        /// Publishes that no queue took.
        case returned
        case refusedPublishes
        /// Results that went elsewhere because their reply queue kept refusing them.
        case divertedResults
        /// Publishes that lost headers, because a frame of the broker does not hold all of them.
        case fittedPublishes
        /// Publishes that were taken out because the broker closes the connection over them.
        case quarantined
        /// Answers whose reason Apple does not document, or that had none.
        case unknownReasons
    }

    private var counts = [UInt64](repeating: 0, count: Name.allCases.count)
    /// Deliveries received, by queue.
    package var deliveries: [UInt64]
    /// Notifications ended, by the raw value of their outcome.
    package var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)
    /// Messages beyond a limit of decoding, by the raw value of ``DecodingLimit``.
    package var decodingLimits = [UInt64](repeating: 0, count: DecodingLimit.allCases.count)
    /// Deliveries without a settlement.
    package var unsettled = 0
    /// Publishes without a confirm, the ones that wait for a connection included.
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
