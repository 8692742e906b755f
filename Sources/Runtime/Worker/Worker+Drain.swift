import AMQP
import APNs
package import Core
import Decoding
import Logging
import Pipeline

/// How far the shutdown of a worker is.
struct Drain {
    enum Stage: Comparable {
        case running
        /// Nothing is consumed any more; requests in flight are finished.
        case finishing
        /// Everything is settled; waits until the broker has received all settlements.
        case flushing
        /// The connections close in order.
        case closing
        case ended
    }

    var stage = Stage.running
    /// When the stage ends at the latest.
    var deadline: Instant?
    /// The maximum time of ``Stage/closing``.
    var closeTimeout = Worker.closeTimeout
    /// Whether the shutdown ended with unsettled deliveries, which the broker requeues.
    var wasCutShort = false

    func isDeadlineOver(at now: Instant) -> Bool {
        deadline.map { now >= $0 } ?? false
    }
}

extension Worker {
    /// The maximum time for the broker's response after everything is settled, and for the orderly close of the
    /// connections.
    package static let closeTimeout = Duration.seconds(5)
    /// The same for the close of a worker that stops without waiting.
    private static let stopTimeout = Duration.seconds(1)

    /// Stops consuming; ``hasEnded`` becomes true when everything is settled, or at `deadline`.
    package mutating func startDrain(deadline: Instant) {
        guard drain.stage == .running else { return }
        drain.stage = .finishing
        drain.deadline = deadline
        consumer.cancelConsumers(at: now.instant)
        pipeline.stopWaitingForDestinations(at: now)
        performActions()
        hasWork = true
    }

    /// Does not wait for unsettled deliveries, which the broker requeues. Acks of finished requests are still sent;
    /// otherwise those requests would be sent again.
    package mutating func stop(at now: Moment) {
        self.now = now
        startDrain(deadline: now.instant)
        drain.deadline = now.instant
        drain.closeTimeout = Self.stopTimeout
        advanceDrain()
    }

    /// Whether everything is closed, in order or after the deadline.
    package var hasEnded: Bool {
        drain.stage == .ended
    }

    /// Whether the drain ended with unsettled deliveries.
    package var wasCutShort: Bool {
        drain.wasCutShort
    }

    mutating func advanceDrain() {
        switch drain.stage {
        case .running, .ended: return
        case .finishing:
            pipeline.requeuePaced(at: now)
            if pipeline.onlyWaits { pipeline.requeueWaiting(at: now) }
            performActions()
            if pipeline.counters.unsettled > 0 {
                guard drain.isDeadlineOver(at: now.instant) else { return }
                warnOfUnconfirmed()
                drain.wasCutShort = true
            }
            drain.stage = .flushing
            drain.deadline = min(drain.deadline ?? now.instant, now.instant + Self.closeTimeout)
            for publisher in publishers { publisher.close(at: now.instant) }
            inquiries.close(at: now.instant)
            for number in pools.roster.numbers { pools[number].drain(at: now.instant) }
            for decoder in decoders { decoder.stop() }
            let delivered = queues.indices.filter { queues[$0].hasDelivered && !drain.wasCutShort }
            flush = AcknowledgementFlush(delivered.map(QueueID.init), on: consumer, at: now.instant)
            advanceDrain()
        case .flushing:
            guard flush?.isOver ?? true || drain.isDeadlineOver(at: now.instant) else { return }
            drain.stage = .closing
            drain.deadline = now.instant + drain.closeTimeout
            consumer.close(at: now.instant)
        case .closing:
            // Requests that APNs has not answered by the deadline are given up, so their connections are not waited
            // for.
            let isClosed =
                consumer.isClosed && publishers.allSatisfy(\.isClosed) && inquiries.isClosed
                && decoders.allSatisfy(\.hasStopped)
                && (drain.wasCutShort || pools.roster.numbers.allSatisfy { pools[$0].isDrained })
            guard isClosed || drain.isDeadlineOver(at: now.instant) else { return }
            end()
        }
    }

    /// What APNs has answered and the broker has not confirmed is sent again after a restart.
    private func warnOfUnconfirmed() {
        guard pipeline.counters.unconfirmed > 0 else { return }
        log.warning(
            "the worker stops before the broker confirmed all results: their requests are sent again",
            metadata: [
                "unconfirmed": .stringConvertible(pipeline.counters.unconfirmed),
                "blocked": .stringConvertible(isBlocked),
            ])
    }

    private mutating func end() {
        drain.stage = .ended
        logThrottle.finish()
    }
}
