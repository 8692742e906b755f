import AMQP
import APNs
package import Core
import Decoding
import Pipeline

/// How a worker ends.
extension Worker {
    /// Stops consuming; ``hasEnded`` becomes true when everything is settled, or at `deadline`.
    package func startDrain(deadline: Instant) {
        guard drain.start(deadline: deadline) else { return }
        consumer.cancelConsumers(at: now.instant)
        outbox.stopWaitingForReplyQueues(at: now)
        performActions()
    }

    /// Closes everything now; what is unsettled goes back to its queue.
    package func stop() {
        if !isIdle { drain.cutShort() }
        end()
    }

    /// Whether everything is closed in order, or given up.
    package var hasEnded: Bool {
        drain.stage == .ended
    }

    /// Whether the end came before everything was settled that could be.
    package var wasCutShort: Bool {
        drain.wasCutShort
    }

    func advanceDrain() {
        switch drain.stage {
        case .running, .ended: return
        case .finishing:
            dispatch.giveBackPaced(at: now)
            performActions()
            if holdsOnly { giveBackWaiting() }
            if !isIdle {
                guard drain.isOver(at: now.instant) else { return }
                drain.cutShort()
            }
            drain.settled(at: now.instant)
            for publisher in publishers { publisher.close(at: now.instant) }
            inquiries.close(at: now.instant)
            for case let pool? in pools.roster.pools { pool.drain(at: now.instant) }
            for decoder in decoders { decoder.stop() }
            let delivered = queues.indices.filter { queues[$0].hasDelivered && !drain.wasCutShort }
            flush = AcknowledgementFlush(delivered.map(QueueID.init), on: consumer, at: now.instant)
            advanceDrain()
        case .flushing:
            guard flush?.isOver ?? true || drain.isOver(at: now.instant) else { return }
            drain.flushed(at: now.instant)
            consumer.close(at: now.instant)
        case .closing:
            // What APNs has not answered by the deadline is given up: its connections are not waited for.
            let isClosed =
                consumer.isClosed && publishers.allSatisfy(\.isClosed) && inquiries.isClosed
                && decoders.allSatisfy(\.hasStopped)
                && (drain.wasCutShort || pools.roster.pools.allSatisfy { $0?.isDrained ?? true })
            guard isClosed || drain.isOver(at: now.instant) else { return }
            end()
        }
    }

    /// Whether nothing is left to do for any delivery.
    private var isIdle: Bool { intake.unsettled == 0 }

    /// Whether all that is left belongs to paused apps, or is put off: waiting longer changes nothing.
    private var holdsOnly: Bool {
        outbox.counters.unconfirmed == 0 && !intake.isAsking && dispatch.holdsOnly
    }

    /// Nobody waits any more for what only waits.
    private func giveBackWaiting() {
        intake.giveBackDeferred()
        dispatch.giveBackWaiting(at: now)
        performActions()
    }

    private func end() {
        drain.closed()
        logThrottle.finish()
    }
}
