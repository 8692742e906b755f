package import AMQP
package import APNs
package import Core
import Decoding
package import Pipeline

/// What the pipeline may do through its worker.
extension Worker: PipelineDoors {
    package func submit(_ request: consuming APNsRequest, handle: UInt32, isProbe: Bool, pool: Int, at now: Moment) {
        self[pool].submit(request, handle: handle, isProbe: isProbe, at: now.instant)
    }

    package func withdraw(_ handle: UInt32, pool: Int) -> Bool {
        self[pool].cancel(handle)
    }

    package func canPublish(_ lane: PublishLane) -> Bool {
        publishers[lane.rawValue].canPublish
    }

    package func connect(_ lane: PublishLane) {
        publishers[lane.rawValue].start(at: now.instant)
    }

    package func publish(_ publication: borrowing Publication, on lane: PublishLane) throws(AMQPError) -> UInt64 {
        try publishers[lane.rawValue].publish(publication)
    }

    package func maximumProperties(on lane: PublishLane) -> Int {
        publishers[lane.rawValue].maximumProperties
    }

    /// Whether the broker takes no publishes.
    var isBlocked: Bool {
        publishers.contains(where: \.isBlocked)
    }

    package func isConnected(pool: Int) -> Bool {
        self[pool].isConnected
    }

    package func ask(_ process: Int, handle: UInt32, _ delivery: Delivery) {
        decoders[process].ask(handle, delivery)
    }

    package func take(_ intake: Intake) {
        guard drain.stage == .running else { return }
        self.intake = intake
        guard intake != .none else { return consumer.cancelConsumers(at: now.instant) }
        for queue in ramps.indices {
            consumer.setPrefetch(intake == .one ? 1 : ramps[queue].prefetch, queue: queue, at: now.instant)
        }
        consumer.resumeConsumers(at: now.instant)
    }

    package func settle(_ delivery: Delivery, _ settlement: Settlement) {
        switch settlement {
        case .ack: consumer.ack(epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, at: now.instant)
        case .requeue:
            consumer.nack(
                epoch: delivery.epoch, queue: delivery.queue, tag: delivery.tag, requeue: true, at: now.instant)
        }
    }
}
