package import Core

/// What a worker has done since it started, and what it holds. Plain numbers: a worker is one thread.
package struct PipelineCounters: Sendable {
    /// Deliveries received, by queue.
    package var deliveries: [UInt64]
    /// Notifications ended, by the raw value of their outcome.
    package var outcomes: [UInt64] = Array(repeating: 0, count: Outcome.allCases.count)
    /// Tries in this process after short or long trouble.
    package var retries: UInt64 = 0
    /// Notifications put into retry queues.
    package var parked: UInt64 = 0
    /// Requests put into retry queues because what they waited for took too long.
    package var heldTooLong: UInt64 = 0
    /// Deliveries given back unsent, because no app could send.
    package var requeued: UInt64 = 0
    /// How often consuming was stopped for that.
    package var suspensions: UInt64 = 0
    /// Redeliveries of requests that were finished, or still in flight, here.
    package var duplicatesAvoided: UInt64 = 0
    /// Tries that APNs may or may not have worked on.
    package var uncertain: UInt64 = 0
    package var ignored: UInt64 = 0
    /// Messages that their decoder put off.
    package var deferred: UInt64 = 0
    /// Messages beyond a limit of decoding, by the raw value of ``DecodingLimit``.
    package var decodingLimits: [UInt64] = Array(repeating: 0, count: DecodingLimit.allCases.count)
    /// Payloads that do not keep to Apple's tables; that of a fan-out counts once.
    package var payloadFindings: UInt64 = 0
    package var deadLetters: UInt64 = 0
    /// Publishes that no queue took.
    package var returned: UInt64 = 0
    package var refusedPublishes: UInt64 = 0
    /// Results that went elsewhere because their reply queue kept refusing them.
    package var divertedResults: UInt64 = 0
    /// Publishes that lost headers, because a frame of the broker does not hold all of them.
    package var fittedPublishes: UInt64 = 0
    /// Publishes that were taken out because the broker closes the connection over them.
    package var quarantined: UInt64 = 0
    /// Answers whose reason Apple does not document, or that had none.
    package var unknownReasons: UInt64 = 0
    /// Deliveries without a settlement.
    package var unsettled = 0
    /// Publishes without a confirm, the ones that wait for a connection included.
    package var unconfirmed = 0

    package init(queues: Int) {
        deliveries = Array(repeating: 0, count: queues)
    }

    package subscript(outcome: Outcome) -> UInt64 {
        outcomes[Int(outcome.rawValue)]
    }

    /// Adds what another worker counted.
    package mutating func add(_ other: PipelineCounters) {
        for index in deliveries.indices { deliveries[index] += other.deliveries[index] }
        for index in outcomes.indices { outcomes[index] += other.outcomes[index] }
        retries += other.retries
        parked += other.parked
        heldTooLong += other.heldTooLong
        requeued += other.requeued
        suspensions += other.suspensions
        duplicatesAvoided += other.duplicatesAvoided
        uncertain += other.uncertain
        ignored += other.ignored
        deferred += other.deferred
        for index in decodingLimits.indices { decodingLimits[index] += other.decodingLimits[index] }
        payloadFindings += other.payloadFindings
        deadLetters += other.deadLetters
        returned += other.returned
        refusedPublishes += other.refusedPublishes
        divertedResults += other.divertedResults
        fittedPublishes += other.fittedPublishes
        quarantined += other.quarantined
        unknownReasons += other.unknownReasons
        unsettled += other.unsettled
        unconfirmed += other.unconfirmed
    }
}
