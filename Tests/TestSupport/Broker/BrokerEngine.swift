package import Core

/// The broker's end of one AMQP connection.
///
/// It checks input as RabbitMQ does: a settlement of an unknown tag closes the channel with 406, a missing queue with
/// 404, a frame out of order closes the connection.
package final class BrokerEngine: Engine {
    enum Phase {
        case awaitingHeader
        case awaitingStartOk
        case awaitingTuneOk
        case awaitingOpen
        case open
        /// We sent `connection.close`.
        case closing
        case closed
    }

    struct BrokerConsumer {
        var queue: String
        var prefetch: Int
        var channel: UInt16
        var unsettled = 0
    }

    struct ChannelState {
        var isOpen = false
        var prefetch = 0
        var unsettled: [UInt64: Unsettled] = [:]
        /// Acks that the queue has not applied; and the number of commands it has answered since.
        var putAside: [UInt64: Unsettled] = [:]
        var commands = 0
        var nextTag: UInt64 = 1
        var publishes: UInt64?
        /// Enqueued publishes without a confirm, by their number.
        var unconfirmed: [UInt64: Broker.Message] = [:]
        var incoming: Incoming?
        /// Publishes that wait for the majority of their queue.
        var undecided: [(tag: UInt64, message: Broker.Message, queue: Broker.Queue)] = []
        /// The queues that the channel has published to.
        var registered: Set<String> = []
        /// The queue whose leader the channel waits for, and the publishes behind that.
        var awaited: String?
        var behind: [Incoming] = []
        /// Publishes that are still read while the channel is stopped.
        var credit = BrokerEngine.credit
    }

    /// With more publishes than this without a majority, a channel stops. Source: `rabbit_fifo_client`, SOFT_LIMIT.
    static let undecidedLimit = 32
    /// What a stopped channel still takes before the connection is not read any more. Source: `credit_flow`.
    static let credit = 200

    struct Unsettled {
        var queue: String
        var consumer: String?
        var message: Broker.Message
        /// Whether a delivery timeout has returned it to its queue: its settlement has no effect.
        var isReturned = false
    }

    /// A publish whose header and body are outstanding.
    struct Incoming {
        var message: Broker.Message
        var mandatory: Bool
        var missing: Int?
    }

    package let broker: Broker
    /// `connection_name` and other client properties, as raw field-table content.
    package internal(set) var clientProperties: [UInt8] = []
    package internal(set) var heartbeat: Duration = .zero
    var user = ""
    /// The passwords received by `connection.update-secret`, right or wrong.
    package internal(set) var secrets: [String] = []
    /// Tags of publishes that wait to be confirmed.
    package internal(set) var heldConfirms: [UInt64] = []
    package internal(set) var heartbeatsReceived = 0

    var phase = Phase.awaitingHeader
    var input: [UInt8] = []
    var output = ByteQueue()
    var frameMax = 4096
    var channelMax = UInt16.max
    var consumers: [String: BrokerConsumer] = [:]
    private var channelStates: [UInt16: ChannelState] = [:]
    /// The channel being read or written.
    var current: UInt16 = 1
    var channelState: ChannelState {
        get { channelStates[current, default: ChannelState()] }
        _modify { yield &channelStates[current, default: ChannelState()] }
    }
    var now = Instant(nanoseconds: 0)
    /// During an alarm the input of a publishing connection is not read.
    var isStopped = false
    private var nextHeartbeat: Instant?
    private var silenceEnds: Instant?

    package init(broker: Broker) {
        self.broker = broker
    }

    // MARK: - For tests

    package func send(raw bytes: [UInt8]) {
        output.append(bytes)
    }

    /// Sends all held confirms. One for all up to a tag would include what a queue without a majority has not stored.
    package func releaseConfirms() {
        let hasUndecided = channelStates.values.contains { !$0.undecided.isEmpty }
        let tags = hasUndecided ? heldConfirms[...] : heldConfirms.suffix(1)
        for tag in tags { releaseConfirms(tag, multiple: !hasUndecided) }
    }

    /// Sends held confirms: one tag, or all up to it.
    package func releaseConfirms(_ tag: UInt64, multiple: Bool = false, acked: Bool = true) {
        current = 1
        heldConfirms.removeAll { multiple ? $0 <= tag : $0 == tag }
        writeConfirm(tag, multiple: multiple, acked: acked)
    }

    package func closeConnection(code: UInt16, text: String) {
        guard phase != .closing, phase != .closed else { return }
        writeMethod(channel: 0, 10, 50) { frame in
            frame.append(code)
            frame.append(short: text)
            frame.append(0 as UInt16)
            frame.append(0 as UInt16)
        }
        phase = .closing
        leave()
    }

    /// Closes a channel from the broker's side; its unsettled deliveries are requeued.
    package func closeChannel(_ channel: UInt16, code: UInt16, text: String) {
        current = channel
        closeChannel(code: code, text: text)
    }

    func closeChannel(code: UInt16, text: String) {
        writeMethod(20, 40) { frame in
            frame.append(code)
            frame.append(short: text)
            frame.append(0 as UInt16)
            frame.append(0 as UInt16)
        }
        closedChannel()
    }

    package var unsettledCount: Int {
        channelStates.values.reduce(0) { $0 + $1.unsettled.values.count { !$0.isReturned } + $1.putAside.count }
    }

    /// The negotiated frame size, in bytes.
    package var agreedFrameMax: Int { frameMax }

    /// Registers a consumer in appearance only, without deliveries.
    package var isStalled = false

    /// Whether a client consumes on this connection, or has consumed.
    package var isConsuming: Bool { !consumers.isEmpty || unsettledCount > 0 }

    // MARK: - Engine

    package func transportOpened(at now: Instant) {
        self.now = now
        broker.attach(self)
    }

    package func transportClosed(_ failure: TransportError?, at now: Instant) {
        self.now = now
        phase = .closed
        leave()
    }

    package func receive(_ bytes: Span<UInt8>, at now: Instant) {
        self.now = now
        if heartbeat > .zero { silenceEnds = now + heartbeat * 3 }
        input.append(bytes)
        readInput()
    }

    package func drain(into output: inout ByteQueue) {
        output.append(moving: &self.output)
    }

    package var isEstablished: Bool { true }
    package var wantsDisconnect: Bool { phase == .closed && output.isEmpty }

    package var nextDeadline: Instant? {
        guard phase != .closed else { return nil }
        return [nextHeartbeat, silenceEnds, broker.nextExpiry].compactMap(\.self).min()
    }

    package func expire(at now: Instant) {
        self.now = now
        broker.expire(at: now)
        if let due = nextHeartbeat, now >= due {
            output.append([8, 0, 0, 0, 0, 0, 0, 0xCE])
            nextHeartbeat = now + heartbeat / 2
        }
        if let silenceEnds, now >= silenceEnds {
            broker.violations.append("missed heartbeats")
            phase = .closed
            leave()
        }
    }

    // MARK: - For the engine's extensions

    func startHeartbeats(_ seconds: UInt16) {
        guard seconds > 0 else { return }
        heartbeat = .seconds(seconds)
        nextHeartbeat = now + heartbeat / 2
        silenceEnds = now + heartbeat * 3
    }

    func alarmCleared() {
        guard isStopped else { return }
        isStopped = false
        writeMethod(channel: 0, 10, 61) { _ in }
        readInput()
    }

    /// - Returns: `true`: the method is answered.
    func locked(_ queue: String) -> Bool {
        closeChannel(code: 405, text: "RESOURCE_LOCKED - cannot obtain access to locked queue '\(queue)'")
        return true
    }

    /// Returns overdue deliveries to their queue, and cancels their consumers.
    func timeOut(_ queue: String, _ isOverdue: (Broker.Message) -> Bool) -> [(String, Broker.Message)] {
        var returned: [(String, Broker.Message)] = []
        for number in channelStates.keys.sorted() {
            current = number
            for (tag, entry) in channelState.unsettled.sorted(by: { $0.key < $1.key })
            where entry.queue == queue && !entry.isReturned && isOverdue(entry.message) {
                channelState.unsettled[tag]?.isReturned = true
                returned.append((queue, entry.message))
                guard let consumer = entry.consumer, consumers[consumer] != nil else { continue }
                broker.removeConsumer(consumer, of: self)
                consumerLost(consumer)
            }
        }
        return returned
    }

    /// Requeues all unsettled deliveries.
    func leave() {
        for number in channelStates.keys.sorted() {
            current = number
            closedChannel()
        }
        broker.detach(self)
    }

    func closedChannel() {
        for (tag, consumer) in consumers where consumer.channel == current {
            broker.removeConsumer(tag, of: self)
            consumers[tag] = nil
        }
        let messages = channelState.unsettled.filter { !$0.value.isReturned }.merging(channelState.putAside) { $1 }
            .sorted { $0.key < $1.key }.map { ($0.value.queue, $0.value.message) }
        channelState = ChannelState()
        heldConfirms.removeAll()
        broker.requeue(messages)
    }
}
