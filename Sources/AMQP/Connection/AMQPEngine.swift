package import Core
import DequeModule
package import TLS

/// The client side of AMQP 0-9-1 on one connection, without a socket. It has one channel, or one per consumed queue,
/// so that a channel close concerns only one queue.
///
/// The engine lives for one epoch. Its deliveries can be settled only through it, and its publishes end with it.
///
/// A value in its ``AMQPLink``, so that a call checks exclusive access once.
package struct AMQPEngine: ~Copyable {
    package enum Event: Sendable {
        /// The channel is open; a publisher may publish.
        case opened(ServerProperties)
        /// The broker registered the consumer of a queue.
        case consuming(queue: QueueID)
        /// It must be settled, even without its body, see ``Delivery/oversizeBody``.
        case delivery(Delivery)
        /// The result of a publish; exactly one per publish.
        case confirmed(sequence: UInt64, Confirmation)
        /// The broker does not accept publishes for now (memory, disk), with its reason.
        case blocked(String)
        case unblocked
        /// The owner stopped a consumer. Its deliveries can still be settled.
        case cancelled(queue: QueueID)
        /// The broker closed the channel of a queue, or cancelled its consumer. It requeues the deliveries, and the
        /// channel is reopened after a delay.
        case channelClosed(queue: QueueID, AMQPError)
        /// The response to the oldest pending request of a control connection.
        case responded(ControlResponse)
        /// The connection ended; `nil` when the owner closed it. Always the last event.
        case closed(AMQPError?)
    }

    /// The broker's properties, and the negotiated parameters.
    struct Handshake {
        var server = ServerProperties()
        /// Whether the peer has shown that it is a broker.
        var isEstablished = false
        /// The maximum size of a frame in either direction, in bytes.
        var frameMax = AMQPConfiguration.frameMin
        /// The highest channel number that the connection uses.
        var channelMax: UInt16 = 1
        /// The negotiated interval in seconds; 0 for none.
        var heartbeat: UInt16 = 0
        /// The size of our `start-ok`, in bytes.
        var loginSize = 0
        /// Passwords that were sent since, and are not answered.
        var secretsUnderWay = 0
        /// A new password that the connection cannot send yet.
        var unsentSecret: String?
    }

    package let configuration: AMQPConfiguration
    package let epoch: UInt32
    /// Whether consumers are registered as soon as their channels open.
    package var consumesWhenOpen = true
    var handshake = Handshake()
    var machine: AMQPConnectionMachine
    /// Channel 1 and following.
    var channels: [Channel]
    var confirms: ConfirmLedger
    var consumers: [Consumer] = []
    var inspection = QueueInspection()
    /// The queue for which the connection ended as stalled.
    var stalledQueue: QueueID?
    /// See ``AMQPConfiguration/stallTimeout``; a queue that delivers again shortens it.
    var stallTimeout: Duration
    /// The requests of a control connection that are not sent yet, oldest first. One is in flight at a time.
    var requests: [ControlRequest] = []
    var isAwaitingResponse = false
    var events = UniqueDeque<Event>()
    var output = ByteQueue()
    var now = Instant(nanoseconds: 0)
    var writer = MethodWriter()
    var reader = FrameReader()
    /// `nil` without TLS.
    private var tls: TLSSession?
    var timers = ConnectionTimers()
    /// Makes the network drain the engine in this turn.
    package var waker: Waker?
    /// Whether the network will drain it anyway.
    private var isAwake = false
    /// Whether the network is to disconnect it.
    private var isFinished = false

    /// - Parameters:
    ///   - epoch: the connection's generation, repeated in every delivery.
    ///   - firstSequence: the number of the first publish; numbers continue from one epoch to the next.
    package init(configuration: AMQPConfiguration, epoch: UInt32, firstSequence: UInt64 = 1) {
        self.configuration = configuration
        self.epoch = epoch
        stallTimeout = configuration.stallTimeout
        machine = AMQPConnectionMachine(confirms: configuration.role == .publisher)
        confirms = ConfirmLedger(first: firstSequence)
        if configuration.address.usesTLS {
            guard let context = configuration.tls else { preconditionFailure("amqps needs a TLS context") }
            let name = configuration.serverName ?? configuration.address.endpoint.host
            tls = TLSSession(context: context, serverName: name)
        }
        if case .consumer(let queues) = configuration.role {
            precondition(!queues.isEmpty, "a consumer has a queue")
            consumers = queues.enumerated().map { Consumer(queue: $1, tag: "harebell-\($0)") }
        }
        // The last one of a consuming connection is for message counts.
        channels = (0...consumers.count).map { _ in
            Channel(
                deliveries: DeliveryLedger(epoch: epoch),
                assembly: ContentAssembly(maximumBody: configuration.maximumBody))
        }
    }

    package mutating func nextEvent() -> Event? {
        events.popFirst()
    }

    package var isEstablished: Bool { handshake.isEstablished }
    package var isOpen: Bool { machine.isOpen }
    package var isBlocked: Bool { machine.isBlocked }
    package var held: Int { channels.indices.reduce(0) { $0 + channels[$1].deliveries.held } }
    /// The TLS parameters; `nil` without TLS, and before the handshake.
    package var security: TLSSummary? {
        switch tls {
        case .some(let session): session.summary
        case .none: nil
        }
    }
    package var nextSequence: UInt64 { confirms.nextSequence }

    /// Closes the connection in order, after the acks that are due. The broker requeues held deliveries.
    package mutating func close(at now: Instant) {
        calledByOwner(at: now)
        guard !isFinished else { return }
        for index in channels.indices { channels[index].deliveries.flush() }
        writeAcknowledgements()
        perform(machine.close())
    }

    /// Every call of the owner that can produce output starts with this.
    mutating func calledByOwner(at now: Instant) {
        self.now = now
        announceChange()
    }

    mutating func announceChange() {
        guard !isAwake else { return }
        isAwake = true
        waker?.wake()
    }

    // MARK: Engine

    package mutating func transportOpened(at now: Instant) {
        self.now = now
        awaitResponse(within: configuration.connectTimeout)
        if tls == nil { perform(machine.take(.transportOpened)) } else { secure() }
    }

    package mutating func receive(_ bytes: Span<UInt8>, at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        timers.received(at: now)
        guard tls != nil else { return read(bytes) }
        tls!.receive(bytes)
        secure()
    }

    /// Continues the TLS handshake, then reads the received bytes.
    private mutating func secure() {
        do throws(TLSError) {
            if !tls.isEstablished {
                guard try tls!.handshake() else { return }
                perform(machine.take(.transportOpened))
            }
            var plaintext = ByteQueue()
            while !isFinished {
                switch try tls!.read(into: &plaintext) {
                case .bytes:
                    plaintext.withBytes { read($0) }
                    plaintext.removeAll()
                case .wantsInput: return
                case .closed: return ended(nil)
                }
            }
        } catch {
            failed(error)
        }
    }

    private mutating func failed(_ error: TLSError) {
        // With TLS 1.3 a broker refuses a certificate only after the handshake.
        let peer = "TLS connection with \(configuration.address.endpoint)"
        let text = isEstablished ? "the \(peer) failed" : "cannot open a \(peer)"
        finish(AMQPError(.tls, text, isTransient: error.isTransient, underlying: error))
    }

    private mutating func read(_ bytes: Span<UInt8>) {
        do throws(AMQPError) {
            try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(AMQPError) in
                var rest = unsafe buffer
                while !isFinished, let frame = try unsafe reader.next(&rest) {
                    unsafe frameReceived(frame)
                }
            }
        } catch {
            finish(machine.state == .awaitingStart ? mismatch(underlying: error) : error)
        }
    }

    package mutating func transportClosed(_ failure: TransportError?, at now: Instant) {
        self.now = now
        ended(failure)
        output.removeAll()
    }

    /// The broker sends nothing more.
    private mutating func ended(_ failure: TransportError?) {
        finish(machine.state == .closing ? nil : lossOfTransport(failure))
    }

    package mutating func drain(into output: inout ByteQueue) {
        isAwake = false
        writeAcknowledgements()
        guard tls != nil else { return output.append(moving: &self.output) }
        if tls.isEstablished {
            do throws(TLSError) {
                try tls!.write(from: &self.output)
                if isFinished { tls!.close() }
            } catch {
                failed(error)
            }
        }
        tls!.drain(into: &output)
    }

    package var wantsDisconnect: Bool { isFinished }

    // Inlined, because a call would copy the whole engine.
    @inline(__always)
    package var nextDeadline: Instant? {
        guard !isFinished else { return nil }
        var earliest = timers.earliest
        for index in channels.indices {
            if let deadline = channels[index].deliveries.since.deadline { earliest = min(earliest, deadline) }
        }
        // Consumers have no deadlines once the connection closes.
        for index in consumers.indices where machine.isOpen {
            if let deadline = consumers[index].deadline { earliest = min(earliest, deadline) }
        }
        return earliest == .distantFuture ? nil : earliest
    }

    package mutating func expire(at now: Instant) {
        self.now = now
        guard !isFinished else { return }
        if timers.isOverdue(at: now) {
            if machine.state == .closing { return finish(nil) }
            return finish(handshakeTimeout())
        }
        if timers.isSilent(at: now) {
            return finish(
                AMQPError(.heartbeatTimeout, "no traffic from the broker for two heartbeats"))
        }
        if timers.takeHeartbeat(at: now) { output.append(FrameFormat.heartbeat) }
        expireConsumers()
        writeAcknowledgements()
    }

    // MARK: - Internal interface for extensions

    mutating func awaitResponse(within limit: Duration) {
        timers.deadline = now + limit
        // Even while the socket is full, and so nothing is drained.
        waker?.wake()
    }

    /// Queues the last event. Unconfirmed publishes end before it.
    mutating func finish(_ error: AMQPError?) {
        guard !isFinished else { return }
        isFinished = true
        machine.failed()
        endPublishes { confirms, each in confirms.connectionLost(each) }
        events.append(.closed(error))
        waker?.wake()
    }
}
