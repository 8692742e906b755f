import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    struct Item {
        let delivery: Delivery
        let letter: DeadLetter
        /// Whether its body was received.
        let isWhole: Bool
        /// When it was retained.
        var since = Instant(nanoseconds: 0)
        /// Whether it is copied to the end of its queue instead of being replayed.
        var isRenewal = false
        /// Whether it was published before on a connection that the broker closed: there may be two copies.
        var isRepeated = false
        /// How often the broker closed the connection while only this message was outstanding.
        var closes = 0
    }

    /// The connections of a run, each for one purpose.
    struct Connections {
        let control: AMQPConnection
        let consumer: AMQPConnection
        let publisher: AMQPConnection

        var all: [AMQPConnection] { [consumer, publisher, control] }

        /// The earliest deadline of the connections; `nil` for none.
        var nextDeadline: Instant? { all.compactMap(\.nextDeadline).min() }
    }

    /// Messages that the run holds and has not sent or acknowledged.
    struct Backlog {
        /// Selected by the filter, oldest first.
        var chosen = Deque<Item>()
        /// To be copied to the end of the queue.
        var renewals = Deque<Item>()
        /// Requeued in their order at the end; the first has been held longest.
        private(set) var retained: [Item] = []

        var isIdle: Bool { chosen.isEmpty && renewals.isEmpty }

        /// Holds a message unacknowledged, or schedules a copy if it was delivered often or too many are held.
        mutating func retain(_ item: Item, _ settings: Settings, at now: Instant) {
            var item = item
            item.since = now
            let isWorn = item.letter.deliveries >= settings.mostDeliveries
            item.isRenewal = isWorn || retained.count >= settings.held
            if item.isRenewal { renewals.append(item) } else { retained.append(item) }
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
        /// The stages of ending the consumer.
        enum ConsumerState { case consuming, stopping, stopped }

        var consumerState = ConsumerState.consuming
        var flush: AcknowledgementFlush?
        /// When the connections close regardless of pending work.
        var deadline = Instant.distantFuture
        /// Whether the connections are being closed.
        var isClosing = false
    }
}
