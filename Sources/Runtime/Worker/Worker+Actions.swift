import AMQP
import APNs
import Core
import Decoding
import Logging
import Pipeline

extension Worker {
    /// Executes actions, including those that follow from them, until none are left.
    mutating func performActions() {
        while let action = pipeline.nextAction() { perform(consume action) }
    }

    private mutating func perform(_ action: consuming PipelineAction) {
        switch consume action {
        case .setIntake(let intake): setIntake(intake)
        case .decode(let process, let handle, let delivery): decoders[process].ask(handle, delivery)
        case .submit(let handle, let notification, let pool, let isProbe):
            pools[pool].submit(notification, handle: handle, isProbe: isProbe, at: now.instant)
        case .withdraw(let handle, let pool, let purpose):
            if pools[pool].cancel(handle) {
                pipeline.withdrawn(handle, purpose, at: now)
            } else {
                pipeline.wasSent(handle)
            }
        case .settle(let queue, let epoch, let tag, .ack):
            consumer.ack(epoch: epoch, queue: queue, tag: tag, at: now.instant)
        case .settle(let queue, let epoch, let tag, .requeue):
            consumer.nack(epoch: epoch, queue: queue, tag: tag, requeue: true, at: now.instant)
        case .replacePublisher(let role): publishers[role.rawValue].replace(at: now.instant)
        }
    }

    private mutating func setIntake(_ level: Intake) {
        guard drain.stage == .running else { return }
        intakeLevel = level
        guard level != .none else { return consumer.cancelConsumers(at: now.instant) }
        for (index, queue) in queues.enumerated() {
            consumer.setPrefetch(level == .one ? 1 : queue.ramp.prefetch, queue: QueueID(index), at: now.instant)
        }
        consumer.resumeConsumers(at: now.instant)
    }

    mutating func publishWaiting() {
        // In reverse order: a direct reply may become a result for a queue.
        for role in [PublisherRole.attempts, .directReplies] where pipeline.hasPublishes(for: role) {
            // The first of each opens its connection.
            publishers[role.rawValue].start(at: now.instant)
            publishWaiting(role)
        }
        if pipeline.awaitsPublisher() { publishWaiting(.queues) }
    }

    private mutating func publishWaiting(_ role: PublisherRole) {
        let publisher = publishers[role.rawValue]
        while pipeline.publisher(role, isOpen: publisher.canPublish),
            let pending = pipeline.nextPublication(on: role, at: now)
        {
            publish(pending, on: publisher)
            performActions()
        }
    }

    private mutating func publish(_ pending: PendingPublication, on publisher: AMQPConnection) {
        do throws(AMQPError) {
            pipeline.published(pending, as: try publisher.publish(pending.publication), at: now)
        } catch {
            if error.code == .propertiesTooLarge, pending.fit(publisher.maximumProperties) {
                return publish(pending, on: publisher)
            }
            pipeline.cannotPublish(pending, error, at: now)
        }
    }

    var isBlocked: Bool {
        publishers.contains(where: \.isBlocked)
    }

    // MARK: Hold time

    /// Applies settings, limited by the broker's timeout.
    mutating func use(_ settings: PipelineSettings) {
        var settings = settings
        if let longestHold {
            settings.hold = min(settings.hold, longestHold)
            settings.longestDeferral = min(settings.longestDeferral, longestHold)
        }
        pipeline.settings = settings
    }

    /// A delivery was held for the broker's delivery timeout.
    mutating func shortenHold(for timeout: Duration) {
        // A request may be held twice: for its rate limit, and for a last try.
        let limit = max(timeout / 3, Self.shortestTimeout / 3)
        guard longestHold.map({ limit < $0 }) ?? true else { return }
        longestHold = limit
        use(pipeline.settings)
        log.warning(
            "a request was held for the broker's delivery timeout: the hold time is reduced",
            metadata: [
                "consumer_timeout_seconds": .stringConvertible(timeout.components.seconds),
                "hold_seconds": .stringConvertible(limit.components.seconds),
            ])
    }

    /// A delivery timeout that leaves enough time to open a connection.
    static let shortestTimeout = Duration.seconds(15)
}
