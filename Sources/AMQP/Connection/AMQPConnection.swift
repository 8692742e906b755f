package import Core
package import TLS

/// Keeps a connection with the broker: an ``AMQPEngine`` for each epoch, one broker after the other, with pauses
/// between.
///
/// It never gives up by itself: every failure is told as ``Event/disconnected(epoch:_:retryAt:)``, and the owner
/// decides by the error whether to go on. Publishes are numbered through all epochs.
package final class AMQPConnection {
    /// What the owner is told.
    package enum Event: Sendable {
        /// What the engine of the current epoch tells; never its end.
        case engine(AMQPEngine.Event)
        /// An epoch ended, or an attempt failed. Its deliveries can no longer be settled: they come again. Its
        /// publishes have all ended before.
        case disconnected(epoch: UInt32, AMQPError, retryAt: Instant)
        /// The connection was closed because we wanted it. Always the last event.
        case closed
    }

    private enum State {
        case idle
        case active
        case waiting(until: Instant)
        case closing
        case closed
    }

    /// An epoch that lasted as long starts the pauses anew.
    package static let stableAfter = Duration.seconds(10)
    /// The longest pause. A broker that is back is in use again within five seconds: this, the handshakes, and one
    /// queue that is not ready at once. Two seconds between two attempts are no burden even where a thousand workers
    /// wait: each is refused by the kernel.
    package static let longestPause = Duration.seconds(2)
    /// The longest pause after what a person has to mend, such as a login that is refused. The broker works for, and
    /// logs, each.
    package static let longestPauseAfterRefusal = Duration.seconds(30)
    /// ``AMQPConfiguration/stallTimeout`` doubles with each connection that gets nothing either, up to this.
    package static let longestStallTimeout = Duration.seconds(3600)

    /// The generation of the current engine; 0 before the first attempt.
    package private(set) var epoch: UInt32 = 0
    /// Where the current epoch is connected to.
    package private(set) var address: BrokerAddress
    private var configuration: AMQPConfiguration
    private var addresses: [BrokerAddress]
    /// Brokers that were not tried in this round.
    private var untried: [BrokerAddress] = []
    private let network: any Network
    private var random: any RandomNumberGenerator
    private var backoff: Backoff
    private var refusals: Backoff
    /// What the configuration began with.
    private let stallTimeout: Duration
    private var state = State.idle
    private var engine: AMQPEngine?
    private var openedAt: Instant?
    private var nextSequence: UInt64 = 1
    private var isPaused = false

    /// A connection that ``start(at:)`` begins.
    ///
    /// - Parameters:
    ///   - configuration: its address is replaced by each of `addresses` in turn.
    ///   - addresses: brokers of one cluster, at least one; tried in random order.
    package init(
        configuration: AMQPConfiguration, addresses: [BrokerAddress], network: any Network,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(),
        backoff: Backoff = Backoff(limit: longestPause)
    ) {
        precondition(!addresses.isEmpty, "a connection goes somewhere")
        self.configuration = configuration
        self.addresses = addresses
        self.network = network
        self.random = random
        self.backoff = backoff
        refusals = Backoff(base: backoff.base, limit: Self.longestPauseAfterRefusal)
        stallTimeout = configuration.stallTimeout
        address = addresses[0]
    }

    package var isOpen: Bool { engine?.isOpen ?? false }
    /// Whether it has ended after ``close(at:)``, and ``Event/closed`` was taken.
    package var isClosed: Bool { if case .closed = state { true } else { false } }
    package var isBlocked: Bool { engine?.isBlocked ?? false }
    package var canPublish: Bool { engine?.canPublish ?? false }
    /// What TLS has agreed upon in this epoch; `nil` without TLS, and before.
    package var security: TLSSummary? { engine?.security }
    /// Delivered in this epoch and not settled.
    package var held: Int { engine?.held ?? 0 }
    /// Published in this epoch and not confirmed.
    package var unconfirmed: Int { engine?.unconfirmed ?? 0 }

    package func start(at now: Instant) {
        guard case .idle = state else { return }
        connect()
    }

    /// Replaces the password in all addresses.
    ///
    /// - Parameter expires: whether it is a token. An open connection goes on with the new one at once; any other
    ///   password is for the next login.
    package func setPassword(_ password: String, expires: Bool, at now: Instant) {
        configuration.renewsPassword = expires
        for index in addresses.indices { addresses[index].password = password }
        for index in untried.indices { untried[index].password = password }
        address.password = password
        switch state {
        case .active: if let engine { renewPassword(of: engine, at: now) }
        // The old one may be why it waits.
        case .waiting: connect()
        case .idle, .closing, .closed: break
        }
    }

    private func renewPassword(of engine: AMQPEngine, at now: Instant) {
        if configuration.renewsPassword { engine.updateSecret(address.password, at: now) }
    }

    package var nextDeadline: Instant? {
        if case .waiting(let until) = state { until } else { nil }
    }

    package func expire(at now: Instant) {
        if case .waiting(let until) = state, now >= until { connect() }
    }

    /// The next thing to know, oldest first; to be called until nil in every turn.
    package func nextEvent(at now: Instant) -> Event? {
        guard let event = engine?.nextEvent() else { return nil }
        switch event {
        case .closed(let error): return ended(error, at: now)
        case .opened:
            openedAt = now
            // It was replaced during the handshake.
            if let engine, engine.configuration.address.password != address.password {
                renewPassword(of: engine, at: now)
            }
        case .delivery: configuration.stallTimeout = stallTimeout
        default: break
        }
        return .engine(event)
    }

    // MARK: - Consuming

    /// Settles a delivery; false when its epoch is over, and then it comes again.
    ///
    /// - Parameter queue: the delivery's; 0 on a control connection.
    @discardableResult
    package func ack(epoch: UInt32, queue: QueueID = QueueID(0), tag: UInt64, at now: Instant) -> Bool {
        guard epoch == self.epoch, let engine else { return false }
        return engine.ack(queue: queue, tag: tag, at: now)
    }

    /// Writes all acks that could wait for neighbours, so that what is written next comes after them.
    package func flushAcknowledgements(at now: Instant) {
        engine?.flushAcknowledgements(at: now)
    }

    /// Gives a delivery back, or lets the broker drop or dead-letter it; false when its epoch is over.
    @discardableResult
    package func nack(epoch: UInt32, queue: QueueID = QueueID(0), tag: UInt64, requeue: Bool, at now: Instant) -> Bool {
        guard epoch == self.epoch, let engine else { return false }
        return engine.nack(queue: queue, tag: tag, requeue: requeue, at: now)
    }

    /// Takes no new deliveries, in this and in later epochs, until ``resumeConsumers(at:)``. What is held can be
    /// settled.
    package func cancelConsumers(at now: Instant) {
        isPaused = true
        engine?.cancelConsumers(at: now)
    }

    /// - Parameter queues: those whose consumers are meant; `nil` for all.
    package func resumeConsumers(of queues: Set<QueueID>? = nil, at now: Instant) {
        isPaused = false
        engine?.resumeConsumers(of: queues, at: now)
    }

    package func setPrefetch(_ prefetch: UInt16, queue: QueueID, at now: Instant) {
        guard case .consumer(var queues) = configuration.role else { preconditionFailure("only consumers prefetch") }
        queues[queue.index].prefetch = prefetch
        configuration.role = .consumer(queues)
        engine?.setPrefetch(prefetch, queue: queue, at: now)
    }

    /// Asks a queue for the number of its messages, while there is a channel for it.
    package func countMessages(queue: QueueID, at now: Instant) {
        engine?.countMessages(queue: queue, at: now)
    }

    /// Messages that waited in a queue when it was last asked; `nil` if it has not answered in this epoch.
    package func messages(queue: QueueID) -> UInt32? {
        isOpen ? engine?.messages(queue: queue) : nil
    }

    // MARK: - Publishing and control

    /// Bytes that the properties of a publication may have: what one frame of the connection takes, or the last one if
    /// there is none.
    package var maximumProperties: Int {
        Int(engine?.handshake.frameMax ?? AMQPConfiguration.frameMin) - PublicationWriter.frameOverhead
            - PublicationWriter.contentOverhead
    }

    /// Writes a message, only while ``canPublish``; see ``AMQPEngine/publish(_:)``.
    package func publish(_ publication: borrowing Publication) throws(AMQPError) -> UInt64 {
        guard let engine else { preconditionFailure("a publish is written only where the broker takes it") }
        return try engine.publish(publication)
    }

    /// Asks the broker something; only while ``isOpen``, for a request ends with its epoch.
    package func request(_ request: ControlRequest, at now: Instant) {
        precondition(isOpen, "a request is sent on an open connection")
        engine?.request(request, at: now)
    }

    // MARK: - Ending

    /// Closes in order and stays closed: acks that are due are sent before, deliveries that are held go back.
    package func close(at now: Instant) {
        switch state {
        case .closing, .closed: return
        case .idle, .waiting:
            // There is no engine whose end could be told, so one that never connects tells it.
            engine = makeEngine()
        case .active: break
        }
        state = .closing
        guard let engine else { return }
        let wasOpen = engine.isOpen
        engine.close(at: now)
        if !wasOpen {
            // Half-way through the handshake nobody answers a close.
            network.disconnect(engine)
            engine.transportClosed(nil, at: now)
        }
    }

    private func connect() {
        if untried.isEmpty { untried = addresses.shuffled(using: &random) }
        address = untried.removeLast()
        epoch += 1
        openedAt = nil
        let engine = makeEngine()
        self.engine = engine
        state = .active
        network.connect(engine, to: address.endpoint, timeout: configuration.connectTimeout)
    }

    private func pause(after error: AMQPError?) -> Duration {
        // Within a round the next broker is tried at once.
        guard untried.isEmpty else { return .zero }
        // A close that a publish has brought about says nothing about the broker.
        if configuration.role == .publisher, openedAt != nil, error?.isAboutPublish == true {
            var first = Backoff(base: backoff.base, limit: backoff.limit)
            return first.next(using: &random)
        }
        if error?.isTransient == false { return refusals.next(using: &random) }
        return backoff.next(using: &random)
    }

    private func makeEngine() -> AMQPEngine {
        configuration.address = address
        let engine = AMQPEngine(configuration: configuration, epoch: epoch, firstSequence: nextSequence)
        engine.consumesWhenOpen = !isPaused
        return engine
    }

    private func ended(_ error: AMQPError?, at now: Instant) -> Event {
        nextSequence = engine?.nextSequence ?? nextSequence
        if case .closing = state {
            state = .closed
            return .closed
        }
        if let openedAt {
            // It was open: all brokers are worth a try again.
            untried = []
            if now - openedAt >= Self.stableAfter {
                backoff.reset()
                refusals.reset()
            }
        }
        // Where another consumer is the only active one, a new connection changes nothing.
        if error?.code == .stalled {
            configuration.stallTimeout = configuration.stallTimeout.doubled(1, atMost: Self.longestStallTimeout)
        }
        let pause = pause(after: error)
        state = .waiting(until: now + pause)
        let cause = error ?? AMQPError(.transport, "the connection ended", blame: .remote, isTransient: true)
        return .disconnected(epoch: epoch, cause, retryAt: now + pause)
    }
}
