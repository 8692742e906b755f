import AMQP
import APNs
import Core
import Decoding
import Pipeline

/// What the pipeline asks for, done.
extension Worker {
    /// Does what the pipeline asks for, and what follows from that, until it asks for nothing more.
    func performActions() {
        while let action = pipeline.nextAction() { perform(action) }
    }

    private func perform(_ action: PipelineAction) {
        switch action {
        case .submit(let handle, let notification, let isProbe):
            self[notification.pool].submit(
                notification.apnsRequest, handle: handle, isProbe: isProbe, at: now.instant)
        case .withdraw(let handle, let pool, let purpose):
            if self[pool].cancel(handle) {
                pipeline.tookBack(handle, purpose, at: now)
            } else {
                pipeline.wasSent(handle)
            }
        case .take(let intake): take(intake)
        case .ask(let process, let handle, let delivery): decoders[process].ask(handle, delivery)
        case .settle(let delivery, let settlement): settle(delivery, settlement)
        }
    }

    private func take(_ intake: Intake) {
        guard drain.stage == .running else { return }
        self.intake = intake
        guard intake != .none else { return consumer.cancelConsumers(at: now.instant) }
        for queue in ramps.indices {
            consumer.setPrefetch(intake == .one ? 1 : ramps[queue].prefetch, queue: queue, at: now.instant)
        }
        consumer.resumeConsumers(at: now.instant)
    }

    private func settle(_ delivery: Delivery, _ settlement: Settlement) {
        switch settlement {
        case .ack: consumer.ack(epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, at: now.instant)
        case .requeue:
            consumer.nack(
                epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, requeue: true, at: now.instant)
        }
    }

    /// Publishes what waits, as far as the publishing connections take it.
    func publishWaiting() {
        // What one lane cannot take may go to one before it.
        for lane in PublishLane.allCases.reversed() {
            let publisher = publishers[lane.rawValue]
            while publisher.canPublish, let pending = pipeline.nextPublication(on: lane, at: now) {
                publish(pending, on: publisher)
                performActions()
            }
            pipeline.publisher(lane, isOpen: publisher.canPublish)
            if lane != .queues, pipeline.waits(for: lane) { publisher.start(at: now.instant) }
        }
    }

    private func publish(_ pending: PendingPublication, on publisher: AMQPConnection) {
        do throws(AMQPError) {
            pipeline.published(pending, as: try publisher.publish(pending.publication))
        } catch {
            if error.code == .propertiesTooLarge, pipeline.fit(pending, publisher.maximumProperties) {
                return publish(pending, on: publisher)
            }
            pipeline.cannotPublish(pending, error, at: now)
        }
    }

    /// Whether the broker takes no publishes.
    var isBlocked: Bool {
        publishers.contains(where: \.isBlocked)
    }
}
