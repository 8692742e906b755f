package import Core
package import TLS

/// Keeps a connection to the broker: one ``AMQPEngine`` per epoch, with backoff between attempts. It tries the brokers
/// in turn.
///
/// It retries until it is closed. It reports every failure as ``Event/disconnected(epoch:_:retryAt:)``, and the owner
/// decides by the error whether to continue. Publish numbers continue across epochs.
package final class AMQPConnection {
    package enum Event: Sendable {
        /// An event of the current epoch's engine, except its end.
        case engine(AMQPEngine.Event)
        /// An epoch ended, or an attempt failed. The broker redelivers the epoch's deliveries; they can no longer be
        /// settled. All of its publishes have ended before this event.
        case disconnected(epoch: UInt32, AMQPError, retryAt: Instant)
        /// The connection was closed at the owner's request. Always the last event.
        case closed
    }

    private enum State {
        case idle
        case active
        case waiting(until: Instant)
        case closing
        case closed
    }

    /// An epoch that lasted this long resets the backoff.
    package static let stableAfter = Duration.seconds(10)
    /// The maximum backoff. A recovered broker is in use within five seconds: this backoff, the handshakes, and one
    /// retry for a queue that is not ready. Retries every two seconds cost a broker that is down little, even from a
    /// thousand workers: the kernel refuses them.
    package static let longestPause = Duration.seconds(2)
    /// The maximum backoff after an error that an operator must fix, such as a refused login. Each attempt costs the
    /// broker work and a log entry.
    package static let longestPauseAfterRefusal = Duration.seconds(30)
    /// ``AMQPConfiguration/stallTimeout`` doubles with each further connection that receives nothing, up to this
    /// limit.
    package static let longestStallTimeout = Duration.seconds(3600)

    /// The generation of the current engine; 0 before the first attempt.
    private(set) var epoch: UInt32 = 0
    package var address: BrokerAddress { configuration.address }
    private var configuration: AMQPConfiguration
    private var addresses: [BrokerAddress]
    /// Brokers not yet tried in this round.
    private var untried: [BrokerAddress] = []
    private let network: any Network
    private var random: any RandomNumberGenerator
    private var backoff: Backoff
    private var refusalBackoff: Backoff
    /// `configuration` has the current value.
    private let configuredStallTimeout: Duration
    /// The queue because of which it was last doubled; a delivery of it restores the configured value.
    private var stalledQueue: QueueID?
    private var state = State.idle
    /// Of the current epoch, or the last one.
    private var link: AMQPLink
    private var openedAt: Instant?

    /// A connection that ``start(at:)`` opens.
    ///
    /// - Parameters:
    ///   - configuration: its address is replaced by each of `addresses` in turn.
    ///   - addresses: brokers of one cluster, at least one; tried in random order.
    package init(
        configuration: AMQPConfiguration, addresses: [BrokerAddress], network: any Network,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(),
        backoff: Backoff = Backoff(limit: longestPause)
    ) {
        precondition(!addresses.isEmpty, "a connection needs an address")
        self.configuration = configuration
        self.addresses = addresses
        self.network = network
        self.random = random
        self.backoff = backoff
        refusalBackoff = Backoff(base: backoff.base, limit: Self.longestPauseAfterRefusal)
        configuredStallTimeout = configuration.stallTimeout
        self.configuration.address = addresses[0]
        // Until the first epoch.
        link = AMQPLink(AMQPEngine(configuration: self.configuration, epoch: 0))
    }

    package var isOpen: Bool { link.engine.isOpen }
    /// Whether the broker has begun the handshake of this epoch, or the last one.
    package var isEstablished: Bool { link.engine.isEstablished }
    /// Whether it was closed by ``close(at:)`` and ``Event/closed`` was taken.
    package var isClosed: Bool { if case .closed = state { true } else { false } }
    package var isBlocked: Bool { link.engine.isBlocked }
    package var canPublish: Bool { link.engine.canPublish }
    /// The TLS parameters of this epoch; `nil` without TLS, and before the handshake.
    package var security: TLSSummary? { link.engine.security }
    package var held: Int { link.engine.held }

    package func start(at now: Instant) {
        guard case .idle = state else { return }
        connect()
    }

    /// Replaces the password in all addresses.
    ///
    /// - Parameter expires: whether it is a token. An open connection goes on with the new one at once; any other
    ///   password is for the next login.
    package func setPassword(_ password: String, expires: Bool, at now: Instant) {
        for index in addresses.indices { addresses[index].password = password }
        for index in untried.indices { untried[index].password = password }
        configuration.address.password = password
        switch state {
        case .active: call { $0.updateSecret(expires ? password : nil, at: now) }
        // The old one may be why it waits.
        case .waiting: connect()
        case .idle, .closing, .closed: break
        }
    }

    package var nextDeadline: Instant? {
        if case .waiting(let until) = state { until } else { nil }
    }

    package func expire(at now: Instant) {
        if case .waiting(let until) = state, now >= until { connect() }
    }

    /// Whether ``nextEvent(at:)`` may return one.
    package var mayHaveEvents: Bool { link.mayHaveEvents }

    /// The oldest pending event. While ``mayHaveEvents``, call it in every turn until it returns `nil`.
    package func nextEvent(at now: Instant) -> Event? {
        guard link.mayHaveEvents else { return nil }
        guard let event = link.engine.nextEvent() else {
            link.mayHaveEvents = false
            return nil
        }
        switch event {
        case .closed(let error): return ended(error, at: now)
        // A control connection opens its channel again after a refused request.
        case .opened where openedAt == nil: openedAt = now
        case .delivery(let delivery) where delivery.queue == stalledQueue:
            configuration.stallTimeout = configuredStallTimeout
            stalledQueue = nil
            call { $0.setStallTimeout(configuredStallTimeout, at: now) }
        default: break
        }
        return .engine(event)
    }

    /// Calls the engine, which may queue events meanwhile.
    private func call(_ body: (inout AMQPEngine) -> Void) {
        link.mayHaveEvents = true
        body(&link.engine)
    }

    // MARK: - Consuming

    /// Settles a delivery. Returns false when its epoch is over; the broker then redelivers it.
    ///
    /// - Parameter queue: the delivery's; 0 on a control connection.
    @discardableResult
    package func ack(epoch: UInt32, queue: QueueID = QueueID(0), tag: UInt64, at now: Instant) -> Bool {
        epoch == self.epoch && link.engine.ack(queue: queue, tag: tag, at: now)
    }

    /// Writes all acks that wait for neighbours, so that they precede whatever is written next.
    package func flushAcknowledgements(at now: Instant) {
        link.engine.flushAcknowledgements(at: now)
    }

    /// Requeues a delivery, or lets the broker drop or dead-letter it. Returns false when its epoch is over.
    @discardableResult
    package func nack(epoch: UInt32, queue: QueueID = QueueID(0), tag: UInt64, requeue: Bool, at now: Instant) -> Bool {
        epoch == self.epoch && link.engine.nack(queue: queue, tag: tag, requeue: requeue, at: now)
    }

    /// Stops new deliveries in this and later epochs, until ``resumeConsumers(of:at:)``. Held deliveries can still be
    /// settled.
    package func cancelConsumers(at now: Instant) {
        call { $0.cancelConsumers(at: now) }
    }

    /// - Parameter queues: the queues to resume; `nil` for all.
    package func resumeConsumers(of queues: Set<QueueID>? = nil, at now: Instant) {
        call { $0.resumeConsumers(of: queues, at: now) }
    }

    package func setPrefetch(_ prefetch: UInt16, queue: QueueID, at now: Instant) {
        guard case .consumer(var queues) = configuration.role else { preconditionFailure("only consumers prefetch") }
        queues[queue.index].prefetch = prefetch
        configuration.role = .consumer(queues)
        call { $0.setPrefetch(prefetch, queue: queue, at: now) }
    }

    /// Requests a queue's message count, if its channel is open.
    package func countMessages(queue: QueueID, at now: Instant) {
        call { $0.countMessages(queue: queue, at: now) }
    }

    /// The message count of the last response; `nil` if the queue has not been counted in this epoch.
    package func messages(queue: QueueID) -> UInt32? {
        isOpen ? link.engine.messages(queue: queue) : nil
    }

    /// Asks whether a queue that is not consumed exists, if the connection is open.
    package func inspect(_ queue: String, at now: Instant) {
        call { $0.inspect(queue, at: now) }
    }

    /// Whether that queue did not exist when it was inspected last in this epoch.
    package func isMissing(_ queue: String) -> Bool { isOpen && link.engine.isMissing(queue) }

    // MARK: - Publishing and control

    /// The maximum size of a publication's properties, in bytes: one frame of the current connection, or of the last
    /// one.
    package var maximumProperties: Int {
        Int(link.engine.handshake.frameMax) - FrameFormat.overhead - FrameFormat.contentHeaderSize
    }

    /// Publishes a message. Call it only while ``canPublish``; see ``AMQPEngine/publish(_:)``.
    package func publish(_ publication: borrowing Publication) throws(AMQPError) -> UInt64 {
        try link.engine.publish(publication)
    }

    /// Sends a request to the broker. Call it only while ``isOpen``: a request ends with its epoch.
    package func request(_ request: ControlRequest, at now: Instant) {
        precondition(isOpen, "a request is sent on an open connection")
        call { $0.request(request, at: now) }
    }

    // MARK: - Ending

    /// Closes in order and stays closed. Acks that are due are sent first; the broker requeues held deliveries.
    package func close(at now: Instant) {
        switch state {
        case .closing, .closed: return
        case .idle, .waiting:
            // Without an engine there is no end to report, so an engine that never connects reports it.
            link = makeLink()
        case .active: break
        }
        state = .closing
        let wasOpen = link.engine.isOpen
        call { $0.close(at: now) }
        if !wasOpen {
            // The broker does not answer a close during the handshake.
            network.disconnect(link)
            link.transportClosed(nil, at: now)
        }
    }

    /// Ends the current epoch, from which the broker has stopped reading. The next one follows as after any loss.
    package func replace(at now: Instant) {
        guard case .active = state else { return }
        network.disconnect(link)
        link.transportClosed(nil, at: now)
    }

    private func connect() {
        if untried.isEmpty { untried = addresses.shuffled(using: &random) }
        configuration.address = untried.removeLast()
        epoch += 1
        openedAt = nil
        link = makeLink()
        state = .active
        network.connect(link, to: address.endpoint, timeout: configuration.connectTimeout)
    }

    private func pause(after error: AMQPError?) -> Duration {
        // Within a round the next broker is tried immediately, and so is a password that came during the attempt.
        guard untried.isEmpty, openedAt != nil || link.engine.configuration.address.password == address.password
        else { return .zero }
        // A close caused by a publish does not mean that the broker is unhealthy.
        if configuration.role == .publisher, openedAt != nil, error?.isAboutPublish == true {
            var first = Backoff(base: backoff.base, limit: backoff.limit)
            return first.next(using: &random)
        }
        if error?.needsPatience == true { return refusalBackoff.next(using: &random) }
        return backoff.next(using: &random)
    }

    private func makeLink() -> AMQPLink {
        var engine = AMQPEngine(configuration: configuration, epoch: epoch, firstSequence: link.engine.nextSequence)
        engine.consumesWhenOpen = link.engine.consumesWhenOpen
        return AMQPLink(engine)
    }

    private func ended(_ error: AMQPError?, at now: Instant) -> Event {
        if case .closing = state {
            state = .closed
            return .closed
        }
        if let openedAt {
            // The connection was open, so all brokers are worth another try.
            untried = []
            // Without a free channel (`max-channels` of a user), RabbitMQ closes the connection that opens one more for
            // counts. The next connection does not open it; the one after that tries again.
            let isAtLimit = error?.code == .notAllowed && error?.isTransient == true
            configuration.countsMessages = !(isAtLimit && link.engine.inspection.state == .opening)
            if now - openedAt >= Self.stableAfter {
                backoff.reset()
                refusalBackoff.reset()
            }
        }
        // If another consumer is the single active one, a new connection does not help.
        if error?.code == .stalled {
            configuration.stallTimeout = configuration.stallTimeout.doubled(1, atMost: Self.longestStallTimeout)
            stalledQueue = link.engine.stalledQueue
        }
        let retryAt = now + pause(after: error)
        state = .waiting(until: retryAt)
        return .disconnected(epoch: epoch, error ?? AMQPError(.transport, "the connection ended"), retryAt: retryAt)
    }
}
