import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    struct Item {
        let delivery: Delivery
        let letter: DeadLetter
        /// The index of the consumer that received it; `nil` for a message of an archive.
        var consumer: Int?
        /// Whether its body was received.
        var isWhole = true
        /// When it was retained.
        var since = Instant(nanoseconds: 0)
        /// Whether it is copied to the end of its queue instead of being replayed.
        var isRenewal = false
        /// Whether it was published before on a connection that the broker closed: there may be two copies.
        var isRepeated = false
        /// How often the broker closed the connection while only this message was outstanding.
        var closes = 0
    }

    /// A connection that consumes the dead-letter queue.
    struct Consumer {
        private enum State { case consuming, stopping, stopped }

        let connection: AMQPConnection
        /// How many messages it receives without an acknowledgement.
        let prefetch: UInt16
        private var state = State.consuming
        private var hasAcknowledged = false
        private var acknowledgements: AcknowledgementFlush?

        init(_ connection: AMQPConnection, prefetch: UInt16) {
            self.connection = connection
            self.prefetch = prefetch
        }

        mutating func ack(_ delivery: Delivery, at now: Instant) -> Bool {
            hasAcknowledged = true
            return connection.ack(epoch: delivery.epoch, tag: delivery.tag, at: now)
        }

        mutating func stop(at now: Instant) {
            guard state == .consuming else { return }
            state = connection.isOpen ? .stopping : .stopped
            connection.cancelConsumers(at: now)
        }

        mutating func took(_ event: AMQPConnection.Event, at now: Instant) {
            acknowledgements?.took(event, on: connection, at: now)
            switch event {
            case .engine(.cancelled), .disconnected: state = .stopped
            default: break
            }
        }

        /// Makes the queue process all acknowledgements, once the consumer has stopped.
        mutating func flush(at now: Instant) {
            guard state == .stopped, hasAcknowledged, acknowledgements == nil else { return }
            acknowledgements = AcknowledgementFlush([QueueID(0)], on: connection, at: now)
        }

        var isFlushed: Bool {
            !connection.isOpen || state == .stopped && (acknowledgements?.isOver ?? !hasAcknowledged)
        }
    }

    /// The connections of a run, each for one purpose.
    struct Connections {
        let control: AMQPConnection
        let publisher: AMQPConnection
        let connect: (AMQPRole) throws -> AMQPConnection
        /// Only the newest one receives messages; the others hold as many as they may.
        var consumers: [Consumer] = []

        /// In the order in which they close.
        var all: [AMQPConnection] { consumers.map(\.connection) + [publisher, control] }

        /// The earliest deadline of the connections; `nil` for none.
        var nextDeadline: Instant? { all.compactMap(\.nextDeadline).min() }

        /// The number of unsettled deliveries.
        var held: Int { consumers.reduce(0) { $0 + $1.connection.held } }

        var isNewestConsumerFull: Bool {
            consumers.last.map { $0.connection.held >= Int($0.prefetch) } ?? false
        }
    }

    /// Messages that the run holds and has not sent or acknowledged.
    struct Backlog {
        /// Selected by the filter, oldest first.
        var chosen = Deque<Item>()
        /// To be copied to the end of the queue.
        var renewals = Deque<Item>()
        private var hasWorn = false
        /// Requeued in their order at the end; the first has been held longest.
        private(set) var retained: [Item] = []

        var isIdle: Bool { chosen.isEmpty && renewals.isEmpty }

        /// Holds a message unacknowledged, or schedules a copy if it was delivered often or too many are held.
        ///
        /// - Parameter isReadOnly: whether the broker holds any number of messages, and only copies are scheduled.
        mutating func retain(_ item: Item, _ settings: Settings, isReadOnly: Bool, at now: Instant) {
            var item = item
            item.since = now
            // Those that are nearly worn follow, so that they stay together.
            let isWorn = item.letter.deliveries >= settings.mostDeliveries - (hasWorn ? 2 : 0)
            hasWorn = hasWorn || isWorn
            item.isRenewal = isWorn || !isReadOnly && retained.count >= settings.held
            if item.isRenewal { renewals.append(item) } else if !isReadOnly { retained.append(item) }
        }

        /// Schedules copies of all held messages.
        mutating func renewRetained() {
            for item in retained {
                var item = item
                item.isRenewal = true
                renewals.append(item)
            }
            retained = []
        }
    }

    /// Published messages without a confirm.
    struct Publishes {
        /// By the sequence number of the confirm.
        var inFlight: [UInt64: Item] = [:]
        /// Unconfirmed when the publishing connection ended. The close reason is reported after them.
        var unconfirmed: [Item] = []
        /// The broker closed the connection over one of these. Each is published again alone, in order.
        var suspects: [Item] = []
        /// Closes over a publish since the last confirm.
        var closes = 0

        var isIdle: Bool { suspects.isEmpty && inFlight.isEmpty }

        /// Copies for the end of the queue that may have arrived already.
        var renewalCount: Int { (inFlight.values + suspects).count(where: \.isRenewal) }

        mutating func takeUnconfirmed() -> [Item] {
            defer { unconfirmed = [] }
            return unconfirmed
        }

        /// The broker closed the connection over one of these messages: each is published again alone.
        ///
        /// - Returns: The message to skip, because the broker closed the connection over it alone
        ///   ``DeadLetterRun/closesUntilRefusal`` times.
        mutating func suspect(_ items: [Item]) -> Item? {
            closes += 1
            let repeated = items.map { item in
                var item = item
                item.isRepeated = true
                if items.count == 1 { item.closes += 1 }
                return item
            }
            guard repeated.count == 1, repeated[0].closes >= closesUntilRefusal else {
                suspects = repeated + suspects
                return nil
            }
            return repeated[0]
        }
    }

    /// The run's questions to the broker about the queue.
    struct Inspection {
        enum Question {
            case lock, length, watch
            /// Verifies a length of 0: RabbitMQ also reports 0 if a quorum queue does not answer within 250 ms. Source:
            /// rabbit_quorum_queue.erl, `stat/2`.
            case emptiness
        }

        /// The pending question.
        var question: Question?
        /// When the length is requested next.
        var nextWatch = Instant.distantFuture
        /// When the queue last proved that it contains a message.
        var lastDelivery: Instant
    }

    /// The state of the run's shutdown.
    struct Shutdown {
        /// When the connections close regardless of pending work.
        var deadline = Instant.distantFuture
        /// Whether the connections are being closed.
        var isClosing = false
    }
}
