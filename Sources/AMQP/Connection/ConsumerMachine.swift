import Core

/// The state machine of one queue's consumer.
///
/// If the broker cancels the consumer or closes its channel, a new channel is opened after a delay, and the consumer is
/// registered again. The owner may stop and resume it at any time.
struct ConsumerMachine: Equatable {
    enum State: Equatable, Sendable {
        /// Its channel is not open yet.
        case opening
        case stopped
        /// Our own `basic.cancel` waits for the consume-ok: RabbitMQ 4.0 ends the connection (541) when a
        /// classic queue's consume-ok finds the consumer cancelled.
        case subscribing(then: Next?)
        case consuming
        case cancelling(then: Next)
        /// We close its channel.
        case closing
        /// Its channel is closed, and reopened at this time.
        case closed(until: Instant)
    }

    enum Next: Equatable, Sendable {
        case stop
        case subscribe
        case closeChannel
    }

    enum Action: Equatable, Sendable {
        case none
        case openChannel
        case closeChannel
        case subscribe
        case cancel
        case announceConsuming
        /// The owner requested it.
        case announceCancelled
    }

    private(set) var state = State.opening

    /// When ``deadlinePassed(at:)`` is due.
    var deadline: Instant? {
        if case .closed(let until) = state { until } else { nil }
    }

    /// Whether the queue exists, as far as known, so that its messages can be counted.
    var isSettled: Bool {
        state == .consuming || state == .stopped
    }

    // MARK: The broker

    mutating func channelOpened(isWanted: Bool) -> Action {
        guard state == .opening else { return .none }
        state = .stopped
        return isWanted ? subscribe() : .none
    }

    mutating func channelClosed(retryAt: Instant) {
        state = .closed(until: retryAt)
    }

    mutating func consumeOkReceived() -> Action {
        guard case .subscribing(let next) = state else { return .none }
        if let next { return cancel(then: next) }
        state = .consuming
        return .announceConsuming
    }

    /// Handles a cancel by the broker: the queue is gone, or RabbitMQ 4.3 has returned overdue deliveries to it. A new
    /// channel makes the broker return the others as well.
    ///
    /// The reply is a client's `basic.cancel`: RabbitMQ before 4.3 treats a `cancel-ok` as an error.
    mutating func cancelReceived() -> Action {
        switch state {
        case .subscribing, .consuming: return cancel(then: .closeChannel)
        case .cancelling: state = .cancelling(then: .closeChannel)
        case .opening, .stopped, .closing, .closed: break
        }
        return .none
    }

    mutating func cancelOkReceived() -> Action {
        guard case .cancelling(let next) = state else { return .none }
        switch next {
        case .stop:
            state = .stopped
            return .announceCancelled
        case .subscribe: return subscribe()
        case .closeChannel:
            state = .closing
            return .closeChannel
        }
    }

    // MARK: The owner

    /// Stops the consumer. Its deliveries can still be settled.
    mutating func stop() -> Action {
        switch state {
        case .consuming: return cancel(then: .stop)
        case .subscribing: state = .subscribing(then: .stop)
        case .cancelling(then: .subscribe): state = .cancelling(then: .stop)
        case .opening, .stopped, .cancelling, .closing, .closed: break
        }
        return .none
    }

    mutating func resume() -> Action {
        switch state {
        case .stopped: return subscribe()
        case .cancelling(then: .stop): state = .cancelling(then: .subscribe)
        // The settings may have changed before the stop.
        case .subscribing(then: .stop): state = .subscribing(then: .subscribe)
        case .opening, .subscribing, .consuming, .cancelling, .closing, .closed: break
        }
        return .none
    }

    /// Registers the consumer again if it is registered, because its settings have changed.
    mutating func renew() -> Action {
        switch state {
        case .consuming: return cancel(then: .subscribe)
        case .subscribing(then: nil): state = .subscribing(then: .subscribe)
        case .opening, .stopped, .subscribing, .cancelling, .closing, .closed: break
        }
        return .none
    }

    // MARK: Time

    mutating func deadlinePassed(at now: Instant) -> Action {
        guard let deadline, deadline <= now else { return .none }
        state = .opening
        return .openChannel
    }

    private mutating func subscribe() -> Action {
        state = .subscribing(then: nil)
        return .subscribe
    }

    private mutating func cancel(then next: Next) -> Action {
        state = .cancelling(then: next)
        return .cancel
    }
}
