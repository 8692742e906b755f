package import Core

/// Where the consumer of one queue stands on its channel: every change of it is made here.
///
/// A consumer that the broker cancels is registered again after a while, and so is one whose channel the broker closed,
/// on a new channel. The owner may stop and resume it at any time.
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
        /// The broker closed its channel, which is opened again then.
        case closed(until: Instant)
    }

    package enum Next: Equatable, Sendable {
        case stop
        case subscribe
        case wait
    }

    /// What to do about an input.
    package enum Action: Equatable, Sendable {
        case none
        case openChannel
        case subscribe
        case cancel
        case announceConsuming
        /// As the owner wished.
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

    /// Whether the channel is open and nothing is under way on it, so that its queue may be asked something.
    package var isSettled: Bool {
        state == .consuming || state == .stopped
    }

    // MARK: The broker

    /// - Parameter isWanted: whether the owner wants to consume now.
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

    /// The broker ended the consumer.
    ///
    /// It gets a client's `basic.cancel` and not a `cancel-ok`, which RabbitMQ before 4.3 takes for an error.
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

    /// What was delivered can still be settled.
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
        // Its settings may have changed before it was to stop.
        case .subscribing(then: .stop): state = .subscribing(then: .subscribe)
        case .opening, .subscribing, .consuming, .closed: break
        }
        return .none
    }

    /// The consumer's settings have changed: it is registered anew where it is registered.
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
