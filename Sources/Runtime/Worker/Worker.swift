import AMQP
package import Configuration
package import Core
import Decoding
import DequeModule
import Logging
package import Pipeline

/// A complete worker: consumes, sends, publishes, acknowledges. It has no socket, clock or thread; it runs on any
/// network.
///
/// The owner calls ``step(at:)`` at the end of each turn and ``expire(at:)`` when ``nextDeadline`` has passed.
///
/// It is flat because each property is a separate part of the worker, and a turn uses nearly all of them. It is a
/// value, so that the compiler proves exclusive access to its parts; an object would check every access at run time.
package struct Worker: ~Copyable {
    let consumer: AMQPConnection
    /// One for each ``PublisherRole``; the ones for direct replies and attempts are opened on demand.
    let publishers: [AMQPConnection]
    /// Asks whether a queue is a stream. Opened on demand.
    let inquiries: AMQPConnection
    /// The queue of the pending question; `nil` for none.
    var inquiry: QueueID?
    var pools: WorkerPools
    let logThrottle: LogThrottle
    /// The connections that were open and have not ended since, by their purpose.
    var opened: Set<BrokerPurpose> = []
    /// The broker connections that are lost or could not be opened, by their purpose.
    var outages: [BrokerPurpose: Outage] = [:]
    /// Why the broker last blocked publishing; see ``isBlocked`` for whether it does.
    var blocked: String?
    var events = Deque<WorkerReport.Event>()
    /// By ``QueueID``.
    var queues: [ConsumedQueue]
    var intakeLevel = Intake.full
    /// The limit from the broker's `consumer_timeout`, known after it has closed a channel.
    var longestHold: Duration?
    var pace: TurnPace
    private var nextInspection = Instant.distantPast
    private(set) var isPublisherOpen = false
    /// Whether the last event said that the worker is ready, and whether any has.
    private var isReady = false
    private var wasReady = false
    var drain = Drain()
    var flush: AcknowledgementFlush?
    /// Whether the next turn has work even if no connection has events.
    var hasWork = true
    /// The beginning of the current turn.
    var now: Moment {
        didSet { logThrottle.advance(to: now.instant) }
    }
    /// The path of a message. It returns actions, see `perform(_:)`.
    package internal(set) var pipeline: RequestPipeline
    let index: Int
    /// The programs of ``PipelineSettings/processes``.
    let decoders: [DecoderProgram]
    /// `nil` where nothing is traced.
    package let tracer: Tracer?

    var log: Logger { logThrottle.logger }

    package var turnInterval: Duration {
        pace.interval(unsettled: pipeline.counters.unsettled)
    }

    /// What the owner is to know of the worker's state.
    package mutating func nextEvent() -> WorkerReport.Event? {
        events.popFirst()
    }

    // MARK: Turns

    /// Takes the events of all connections, and executes the resulting actions.
    package mutating func step(at now: Moment) {
        self.now = now
        guard hasWork || hasEvents() else { return }
        if isWorking { performActions() }
        takeDeliveries()
        stepDecoders()
        takeResponses()
        // During the close no pool takes over from another.
        if isWorking, pools.roster.isChanging { applyChanges() }
        takeConfirms()
        updateReadiness()
        if inquiries.mayHaveEvents { takeInquiries() }
        inquire()
        if drain.stage != .running { advanceDrain() }
        if isWorking { publishWaiting() }
        pausePools()
        stepPools()
        // Each of these changes without an event.
        hasWork =
            drain.stage != .running || !decoders.isEmpty || pools.roster.isChanging || pipeline.awaitsPublisher()
    }

    private mutating func hasEvents() -> Bool {
        consumer.mayHaveEvents || pools.hasWoken || publishers.contains { $0.mayHaveEvents }
            || inquiries.mayHaveEvents
    }

    package var nextDeadline: Instant? {
        // Otherwise a call would copy the whole worker.
        mutating get {
            var earliest: Instant?
            func consider(_ deadline: Instant?) {
                guard let deadline else { return }
                earliest = earliest.map { min($0, deadline) } ?? deadline
            }
            consider(consumer.nextDeadline)
            for publisher in publishers { consider(publisher.nextDeadline) }
            consider(inquiries.nextDeadline)
            consider(pools.nextDeadline)
            if isWorking {
                consider(pipeline.nextDeadline)
                consider(pools.roster.nextDeadline)
                for index in queues.indices { consider(queues[index].ramp.deadline) }
            }
            for decoder in decoders { consider(decoder.nextDeadline) }
            consider(drain.deadline)
            // A connection that is not open closes without an event of the network.
            if drain.stage == .closing, hasEvents() { consider(now.instant) }
            consider(tracer?.nextDeadline)
            consider(logThrottle.nextDeadline)
            return earliest
        }
    }

    package mutating func expire(at now: Moment) {
        self.now = now
        consumer.expire(at: now.instant)
        for publisher in publishers { publisher.expire(at: now.instant) }
        inquiries.expire(at: now.instant)
        if isWorking {
            pipeline.expire(at: now)
            performActions()
            for index in queues.indices where queues[index].ramp.expire(at: now.instant) && intakeLevel == .full {
                consumer.setPrefetch(queues[index].ramp.prefetch, queue: QueueID(index), at: now.instant)
            }
        }
        hasWork = true
        step(at: now)
    }

    /// Whether new work may start. Once the connections are closing, the broker requeues the rest.
    var isWorking: Bool {
        drain.stage < .flushing
    }

    private mutating func received(_ delivery: Delivery) {
        arrived(delivery)
        guard !queues[delivery.queue.index].suspicion.holds(delivery) else { return }
        give(delivery)
    }

    /// Gives a delivery to the pipeline, once its queue is known not to be a stream.
    mutating func give(_ delivery: Delivery) {
        pipeline.received(delivery, at: now)
        performActions()
    }

    private mutating func takeDeliveries() {
        while let event = consumer.nextEvent(at: now.instant) {
            flush?.took(event, on: consumer, at: now.instant)
            switch consume event {
            case .engine where !isWorking: break
            case .engine(.delivery(let delivery)): received(delivery)
            case .engine(.consuming(let queue)): queues[queue.index].isConsuming = true
            case .engine(.cancelled(let queue)): queues[queue.index].isConsuming = false
            case .engine(.channelClosed(let queue, let error)): channelClosed(queue, error)
            case .engine(.opened): connectionOpened(.consuming)
            case .disconnected(_, let error, _):
                for index in queues.indices { queues[index].channelEnded() }
                consumerLost()
                brokerLost(.consuming, error)
            case .engine, .closed: break
            }
        }
    }

    /// Sends new messages to the decoder processes, and takes their responses.
    private mutating func stepDecoders() {
        for decoder in decoders {
            decoder.step(at: now)
            while let result = decoder.nextResult() {
                guard isWorking else { continue }
                pipeline.decoded(result.handle, result.decoded, at: now)
                performActions()
            }
        }
    }

    private mutating func channelClosed(_ queue: QueueID, _ error: AMQPError) {
        let now = now.instant
        let oldest = pipeline.requests.filter { $0.queue == queue }.map(\.arrived.instant).min()
        // A queue that stays missing has no effect on the others.
        if queues[queue.index].hasDelivered { consumerLost(queue: queue) }
        queues[queue.index].channelEnded()
        if let timeout = error.consumerTimeout { shortenHold(for: timeout) }
        if error.code == .consumerCancelled {
            // A timeout cancels only after a while; other causes may cancel at any time.
            queues[queue.index].heldAtCancel = oldest.map { now - $0 }.flatMap { $0 < Self.shortestTimeout ? nil : $0 }
        }
        if !error.isTransient, !wasReady { return fail(error) }
        let name = pipeline.settings.queues[queue.index].name
        log.error(
            "the channel of a queue is closed, and it will be consumed again; other queues are not affected",
            metadata: ["messaging.destination.name": "\(name)", "error.message": "\(error)"])
    }

    private mutating func consumerLost(queue: QueueID? = nil) {
        nextInspection = .distantPast
        pipeline.consumerLost(queue: queue, at: now)
        performActions()
    }

    private mutating func arrived(_ delivery: Delivery) {
        let index = delivery.queue.index
        queues[index].hasDelivered = true
        // A deleted queue would have been cancelled as well, but would redeliver nothing.
        if let held = queues[index].heldAtCancel.take(), delivery.redelivered { shortenHold(for: held) }
        guard queues[index].ramp.delivered(isRedelivered: delivery.redelivered, at: now.instant), intakeLevel == .full
        else { return }
        consumer.setPrefetch(queues[index].ramp.prefetch, queue: delivery.queue, at: now.instant)
    }

    func prefetch(inForceOf queue: QueueID) -> UInt16 {
        switch intakeLevel {
        case .full: queues[queue.index].ramp.prefetch
        case .one: 1
        case .none: 0
        }
    }

    private static let inspectionInterval = Duration.seconds(5)

    /// Asks for the number of waiting messages in the queues, and whether the dead-letter queue exists, for later
    /// snapshots. Only one worker of a process asks the latter: a broker logs each request for a missing queue as an
    /// error.
    package mutating func inspectQueues(at now: Moment) {
        guard nextInspection <= now.instant, consumer.isOpen, drain.stage == .running else { return }
        nextInspection = now.instant + Self.inspectionInterval
        for index in queues.indices { consumer.countMessages(queue: QueueID(index), at: now.instant) }
        let deadLetters = pipeline.settings.deadLetters.route
        if index == 0, deadLetters.exchange.isEmpty { consumer.inspect(deadLetters.name, at: now.instant) }
    }

    /// Has every connection log in with another password; where it is a token, open connections go on with it.
    package mutating func renewPassword(_ password: Secret, at now: Moment) {
        let isToken = AccessToken(password) != nil
        for connection in [consumer, inquiries] + publishers {
            connection.setPassword(password.reveal(), expires: isToken, at: now.instant)
        }
    }

    private mutating func takeConfirms() {
        for index in publishers.indices where publishers[index].mayHaveEvents {
            takeConfirms(PublisherRole(rawValue: index)!)
        }
    }

    private mutating func takeConfirms(_ role: PublisherRole) {
        let publisher = publishers[role.rawValue]
        while let event = publisher.nextEvent(at: now.instant) {
            switch consume event {
            case .engine where !isWorking: break
            case .engine(.confirmed(let sequence, let confirmation)):
                pipeline.confirmed(sequence, confirmation, on: role, at: now)
                performActions()
            case .engine(.opened):
                connectionOpened(role.purpose)
                // It is not asked again before a publish waits, and direct replies beyond a limit would not.
                pipeline.publisher(role, isOpen: publisher.canPublish)
                pipeline.publisher(role, isBlocked: false, at: now)
                if role == .queues { isPublisherOpen = true }
            case .engine(.blocked(let reason)):
                pipeline.publisher(role, isOpen: false)
                pipeline.publisher(role, isBlocked: true, at: now)
                blocked = reason
                log.warning("the broker blocks publishing: results wait", metadata: ["reason": "\(reason)"])
            case .engine(.unblocked):
                pipeline.publisher(role, isBlocked: false, at: now)
                log.notice("the broker accepts publishes again")
            case .disconnected(_, let error, _):
                if role == .queues { isPublisherOpen = false }
                pipeline.publisherLost(role, error, at: now)
                performActions()
                if error.isAboutPublish { break }
                if role == .queues { brokerLost(.publishing, error) } else { connectionLost(role.purpose, error) }
            case .engine, .closed: break
            }
        }
    }

    private mutating func brokerLost(_ purpose: BrokerPurpose, _ error: AMQPError) {
        if !error.isTransient, !wasReady { fail(error) } else { connectionLost(purpose, error) }
    }

    /// Reports that the worker cannot start, because the broker refuses permanently.
    private mutating func fail(_ error: AMQPError) {
        let advice = error.code == .notFound ? " ('harebell topology --config FILE --apply' does that)" : ""
        events.append(.failed(.unavailable, message: error.description + advice))
    }

    mutating func connectionLost(_ purpose: BrokerPurpose, _ error: AMQPError) {
        let wasOpen = opened.remove(purpose) != nil
        let outage = Outage.after(outages[purpose], error, at: now.instant)
        let isRepeated = !wasOpen && outages[purpose]?.cause == outage.cause
        outages[purpose] = outage
        log.log(
            level: isRepeated ? .debug : .warning,
            "the \(purpose.rawValue) connection \(wasOpen ? "is lost" : "cannot be opened"); trying again",
            metadata: ["error.message": "\(error)"])
    }

    mutating func connectionOpened(_ purpose: BrokerPurpose) {
        opened.insert(purpose)
        guard let outage = outages.removeValue(forKey: purpose) else { return }
        let seconds = (now.instant - outage.since).components.seconds
        log.notice(
            "the \(purpose.rawValue) connection is open again",
            metadata: ["outage_seconds": .stringConvertible(seconds)])
    }

    private mutating func updateReadiness() {
        let isConsuming = queues.indices.allSatisfy { queues[$0].isConsuming }
        let ready = isConsuming && isPublisherOpen && !pipeline.reachability.isSuspended
        guard ready != isReady else { return }
        isReady = ready
        wasReady = wasReady || ready
        events.append(ready ? .ready : .notReady)
    }
}
