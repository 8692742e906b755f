package import Core

/// The state machine of one queue's consumer.
///
/// A consumer that the broker cancelled is registered again after a delay. If the broker closed its channel, a new
/// channel is opened first. The owner may stop and resume it at any time.
package struct ConsumerMachine: Equatable {
    package enum State: Equatable, Sendable {
        /// Its channel is not open yet.
        case opening
        case stopped
        /// No `basic.cancel` is sent before the broker's consume-ok: RabbitMQ 4.0 ends the connection (541) when a
        /// classic queue's consume-ok finds the consumer cancelled.
        case subscribing(then: Next?)
        case consuming
        case cancelling(then: Next)
        case waiting(until: Instant)
        /// The broker closed its channel, which is reopened at this time.
        case closed(until: Instant)
    }

    package enum Next: Equatable, Sendable {
        case stop
        case subscribe
        case wait
    }

    /// The reaction to an input.
    package enum Action: Equatable, Sendable {
        case none
        case openChannel
        case subscribe
        case cancel
        case announceConsuming
        /// The owner requested it.
        case announceCancelled
    }

    package private(set) var state = State.opening

    package init() {}

    /// When ``deadlinePassed(at:)`` is due.
    package var deadline: Instant? {
        switch state {
        case .waiting(let until), .closed(let until): until
        case .opening, .stopped, .subscribing, .consuming, .cancelling: nil
        }
    }

    /// Whether the channel is open and idle, so that it can carry a message count.
    package var isSettled: Bool {
        state == .consuming || state == .stopped
    }

    // MARK: The broker

    /// - Parameter isWanted: whether the owner wants to consume.
    package mutating func channelOpened(isWanted: Bool) -> Action {
        guard state == .opening else { return .none }
        state = .stopped
        return isWanted ? subscribe() : .none
    }

    package mutating func channelClosed(retryAt: Instant) {
        state = .closed(until: retryAt)
    }

    package mutating func consumeOkReceived() -> Action {
        guard case .subscribing(let next) = state else { return .none }
        if let next { return cancel(then: next) }
        state = .consuming
        return .announceConsuming
    }

    /// Handles a cancel by the broker.
    ///
    /// The reply is a client's `basic.cancel`: RabbitMQ before 4.3 treats a `cancel-ok` as an error.
    package mutating func cancelReceived() -> Action {
        switch state {
        case .subscribing(let next): cancel(then: next ?? .wait)
        case .consuming: cancel(then: .wait)
        case .opening, .stopped, .cancelling, .waiting, .closed: .none
        }
    }

    package mutating func cancelOkReceived(retryAt: Instant) -> Action {
        guard case .cancelling(let next) = state else { return .none }
        switch next {
        case .stop:
            state = .stopped
            return .announceCancelled
        case .subscribe: return subscribe()
        case .wait:
            state = .waiting(until: retryAt)
            return .none
        }
    }

    // MARK: The owner

    /// Stops the consumer. Its deliveries can still be settled.
    package mutating func stop() -> Action {
        switch state {
        case .consuming: return cancel(then: .stop)
        case .subscribing: state = .subscribing(then: .stop)
        case .cancelling: state = .cancelling(then: .stop)
        case .waiting: state = .stopped
        case .opening, .stopped, .closed: break
        }
        return .none
    }

    package mutating func resume() -> Action {
        switch state {
        case .stopped, .waiting: return subscribe()
        case .cancelling: state = .cancelling(then: .subscribe)
        // The settings may have changed before the stop.
        case .subscribing(then: .stop): state = .subscribing(then: .subscribe)
        case .opening, .subscribing, .consuming, .closed: break
        }
        return .none
    }

    /// Registers the consumer again if it is registered, because its settings have changed.
    package mutating func renew() -> Action {
        switch state {
        case .consuming: return cancel(then: .subscribe)
        case .subscribing(then: nil): state = .subscribing(then: .subscribe)
        case .opening, .stopped, .subscribing, .cancelling, .waiting, .closed: break
        }
        return .none
    }

    // MARK: Time

    package mutating func deadlinePassed(at now: Instant) -> Action {
        guard let deadline, deadline <= now else { return .none }
        if case .closed = state {
            state = .opening
            return .openChannel
        }
        return subscribe()
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
