package import Core
import DequeModule
package import TLS

/// Our end of AMQP 0-9-1 on one connection, without a socket. It has one channel, or one for each queue that it
/// consumes: what the broker closes a channel for then concerns one queue.
///
/// The engine lives for one epoch: what it delivered can be settled through it only, and what it published ends with
/// it. Handshake, consumers, publishing and control each have a file of their own.
package final class AMQPEngine: Engine {
    /// What the owner is told.
    package enum Event: Sendable {
        /// The channel is open; a publisher may publish.
        case opened(ServerProperties)
        /// The broker registered the consumer of a queue.
        case consuming(queue: QueueID)
        case delivery(Delivery)
        /// A delivery whose body was larger than allowed, and is not here. It is to be settled like any other.
        case oversize(Delivery, bodySize: UInt64)
        /// The end of a publish; comes exactly once for each.
        case confirmed(sequence: UInt64, Confirmation)
        /// The broker takes no publishes for now (memory, disk): its reason.
        case blocked(String)
        case unblocked
        /// The broker took the password of ``AMQPEngine/updateSecret(_:at:)``.
        case secretUpdated
        /// A consumer ended. When the broker ended it, it is registered again after a while; what was delivered can
        /// still be settled.
        case cancelled(queue: QueueID, byBroker: Bool)
        /// The broker closed the channel of a queue: what it delivered comes again, if it still can. It is opened anew
        /// after a while.
        case channelClosed(queue: QueueID, AMQPError)
        /// The answer to the oldest unanswered request of a control connection.
        case replied(ControlReply)
        /// The connection ended; `nil` when we wanted it. Always the last event.
        case closed(AMQPError?)
    }

    /// What the broker said of itself, and what both ends agreed upon.
    struct Handshake {
        var server = ServerProperties()
        /// Whether the peer has shown that it is a broker.
        var isEstablished = false
        /// Frames of at most this many bytes are exchanged.
        var frameMax = AMQPConfiguration.frameMin
        /// What the broker's offer and our configuration allow.
        var agreed = Agreement(frameMax: UInt32(AMQPConfiguration.frameMin), heartbeat: 0)
        /// Passwords that were sent since, and are not answered.
        var secretsUnderWay = 0
    }

    /// What the broker's offer and our configuration allow.
    struct Agreement {
        var frameMax: UInt32
        /// In seconds; 0 for none.
        var heartbeat: UInt16
    }

    /// The requests of a control connection. One at a time is under way.
    struct ControlRequests {
        /// Not sent yet, the oldest first.
        var waiting: [ControlRequest] = []
        var isAwaitingReply = false
    }

    /// What lies between the transport's bytes and methods.
    struct Layers: ~Copyable {
        let writer = MethodWriter()
        let reader = FrameReader()
        /// `nil` where the connection is not encrypted.
        let tls: TLSSession?
        /// Decrypted and not read yet; empty between calls.
        var plaintext = ByteQueue()
    }

    package let configuration: AMQPConfiguration
    package let epoch: UInt32
    /// Whether consumers are registered as soon as the channel opens.
    package var consumesWhenOpen = true
    var handshake = Handshake()
    var machine: ConnectionMachine
    /// Channel 1 and those after it.
    var channels: [Channel]
    var confirms: ConfirmLedger
    var consumers: [Consumer] = []
    var requests = ControlRequests()
    var events = Deque<Event>()
    var output = ByteQueue()
    var now = Instant(nanoseconds: 0)
    var layers: Layers
    private var timers = ConnectionTimers()
    private var isFinished = false

    /// An engine for one connection.
    ///
    /// - Parameters:
    ///   - epoch: the connection's generation, repeated in every delivery.
    ///   - firstSequence: the number of the first publish, so that numbers go on from one epoch to the next.
    package init(configuration: AMQPConfiguration, epoch: UInt32, firstSequence: UInt64 = 1) {
        self.configuration = configuration
        self.epoch = epoch
        machine = ConnectionMachine(confirms: configuration.role == .publisher)
        confirms = ConfirmLedger(first: firstSequence)
        if configuration.address.usesTLS {
            guard let context = configuration.tls else { preconditionFailure("amqps needs a TLS context") }
            let name = configuration.serverName ?? configuration.address.endpoint.host
            layers = Layers(tls: TLSSession(context: context, serverName: name))
        } else {
            layers = Layers(tls: nil)
        }
        if case .consumer(let queues) = configuration.role {
            precondition(!queues.isEmpty, "a consumer has a queue")
            consumers = queues.enumerated().map { Consumer(queue: $1, tag: "harebell-\($0)") }
        }
        channels = (0..<max(1, consumers.count)).map { _ in
            Channel(
                deliveries: DeliveryLedger(epoch: epoch, limits: configuration.acknowledgements),
                assembly: ContentAssembly(maximumBody: configuration.maximumBody))
        }
    }

    /// The next thing to know, oldest first.
    package func nextEvent() -> Event? {
        events.popFirst()
    }

    /// What the broker says of itself; empty before it has.
    package var server: ServerProperties { handshake.server }
    /// Whether the peer has shown that it is a broker.
    package var isEstablished: Bool { handshake.isEstablished }
    /// Whether the channel is open.
    package var isOpen: Bool { machine.isOpen }
    package var isBlocked: Bool { machine.isBlocked }
    /// Delivered and not settled.
    package var held: Int { channels.indices.reduce(0) { $0 + channels[$1].deliveries.held } }
    /// What TLS has agreed upon; `nil` without TLS, and before.
    package var security: TLSSummary? { layers.tls?.summary }
    /// The number that the next publish gets.
    package var nextSequence: UInt64 { confirms.nextSequence }
    /// Published and not confirmed.
    package var unconfirmed: Int { confirms.unconfirmed }

    /// Ends the connection in order, after the acks that are due; deliveries that are still held go back to their
    /// queues.
    package func close(at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        for index in channels.indices { channels[index].deliveries.flush() }
        writeAcknowledgements()
        perform(machine.close())
    }

    package func transportOpened(at now: Instant) {
        self.now = now
        timers.patience = now + configuration.handshakeTimeout
        if let tls = layers.tls { secure(tls) } else { perform(machine.transportOpened()) }
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        timers.received(at: now)
        if let tls = layers.tls {
            tls.receive(bytes)
            secure(tls)
        } else {
            read(bytes)
        }
    }

    /// Goes on with the TLS handshake, then reads what has arrived.
    private func secure(_ tls: TLSSession) {
        do throws(TLSError) {
            if !tls.isEstablished {
                guard try tls.handshake() else { return }
                perform(machine.transportOpened())
            }
            while !isFinished, case .bytes = try tls.read(into: &layers.plaintext) {
                layers.plaintext.withBytes { read($0) }
                layers.plaintext.removeAll()
            }
        } catch {
            fail(
                AMQPError(
                    .tls, "no secure connection with \(configuration.address.endpoint)", blame: error.blame,
                    isTransient: error.isTransient, underlying: error))
        }
    }

    private func read(_ bytes: Span<UInt8>) {
        do throws(AMQPError) {
            try unsafe layers.reader.read(bytes) { frame in
                unsafe frameReceived(frame)
                return !isFinished
            }
        } catch {
            fail(machine.state == .awaitingStart ? mismatch(underlying: error) : error)
        }
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        let wasOpened = timers.patience != nil || machine.isOpen
        if machine.state == .closing { finish(nil) } else { fail(lossOfTransport(failure, wasOpened: wasOpened)) }
        output.removeAll()
    }

    package func drain(into output: inout ByteQueue) {
        writeAcknowledgements()
        guard let tls = layers.tls else { return output.append(moving: &self.output) }
        if tls.isEstablished {
            do throws(TLSError) {
                try tls.write(from: &self.output)
                if isFinished { tls.close() }
            } catch {
                fail(
                    AMQPError(
                        .tls, "the secure connection broke", blame: error.blame, isTransient: error.isTransient,
                        underlying: error))
            }
        }
        tls.drain(into: &output)
        if isFinished { self.output.removeAll() }
    }

    package var wantsDisconnect: Bool { isFinished && output.isEmpty }

    package var nextDeadline: Instant? {
        guard !isFinished else { return nil }
        var earliest = timers.earliest
        for index in channels.indices {
            if let deadline = channels[index].deliveries.nextDeadline { earliest = min(earliest, deadline) }
        }
        // Nothing is done for a consumer once the connection closes.
        for index in consumers.indices where machine.isOpen {
            if let deadline = deadline(ofConsumer: index) { earliest = min(earliest, deadline) }
        }
        return earliest == .distantFuture ? nil : earliest
    }

    package func expire(at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        if timers.isOverdue(at: now) {
            if machine.state == .closing { return finish(nil) }
            return fail(handshakeTimeout())
        }
        if timers.isSilent(at: now) {
            return fail(
                AMQPError(
                    .heartbeatTimeout, "the broker was silent for two heartbeats", blame: .remote, isTransient: true))
        }
        if timers.takeHeartbeat(at: now) { writeHeartbeat() }
        expireConsumers()
        writeAcknowledgements()
    }

    // MARK: - For the engine's other files

    /// The handshake is over.
    func didOpen() {
        timers.patience = nil
        events.append(.opened(server))
    }

    func didTune(frameMax: UInt32, heartbeat seconds: UInt16) {
        handshake.frameMax = frameMax
        layers.reader.tune(frameMax: frameMax)
        if seconds > 0 { timers.startHeartbeats(.seconds(seconds), at: now) }
    }

    func willClose() {
        timers.patience = now + configuration.handshakeTimeout
    }

    /// Ends the connection because of an error.
    func fail(_ error: AMQPError) {
        finish(error)
    }

    /// The last event; publishes without a confirm end before it.
    func finish(_ error: AMQPError?) {
        guard !isFinished else { return }
        isFinished = true
        machine.failed()
        confirms.connectionLost { sequence, confirmation in
            events.append(.confirmed(sequence: sequence, confirmation))
        }
        events.append(.closed(error))
    }
}
