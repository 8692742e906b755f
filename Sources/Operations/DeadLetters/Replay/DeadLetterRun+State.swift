import AMQP
import Core
import DequeModule

extension DeadLetterRun {
    struct Item {
        let delivery: Delivery
        let letter: DeadLetter
        /// Whether its body is here.
        let isWhole: Bool
        /// When it was retained.
        var since = Instant(nanoseconds: 0)
        /// Whether it goes to the end of the queue, and not to where it was before.
        var isRenewal = false
        /// Whether it was published before, on a connection that the broker closed: there may be two copies.
        var isRepeated = false
        /// How often the broker closed the connection while this message alone was outstanding.
        var closes = 0
    }

    /// The connections of a run, each for one purpose.
    struct Connections {
        let control: AMQPConnection
        let consumer: AMQPConnection
        let publisher: AMQPConnection

        var all: [AMQPConnection] { [consumer, publisher, control] }

        /// When one of them has something to do though nothing has happened; `nil` for never.
        var nextDeadline: Instant? { all.compactMap(\.nextDeadline).min() }
    }

    /// Messages that the run holds and has not sent or acknowledged.
    struct Backlog {
        /// Chosen by the filter, the oldest first.
        var chosen = Deque<Item>()
        /// To be copied to the end of the queue.
        var renewals = Deque<Item>()
        /// They return to their places at the end. The first has been held for longest.
        private(set) var retained: [Item] = []

        var isIdle: Bool { chosen.isEmpty && renewals.isEmpty }

        /// Holds a message unacknowledged, or has it copied if that is due or so many are held already.
        mutating func retain(_ item: Item, _ settings: Settings, at now: Instant) {
            var item = item
            item.since = now
            let isWorn = item.letter.deliveries >= settings.mostDeliveries
            item.isRenewal = isWorn || retained.count >= settings.held
            if item.isRenewal { renewals.append(item) } else { retained.append(item) }
        }

        /// Has everything copied that is held.
        mutating func renewRetained() {
            for item in retained {
                var item = item
                item.isRenewal = true
                renewals.append(item)
            }
            retained = []
        }
    }

    /// Messages that were published and have no confirm yet.
    struct Publishes {
        /// By the number that the confirm will carry.
        var inFlight: [UInt64: Item] = [:]
        /// Not confirmed when the publishing connection ended. The cause is reported after them.
        var unconfirmed: [Item] = []
        /// The broker closed the connection over one of these. Each is published again alone, the first one next.
        var suspects: [Item] = []
        /// Closes over a publish since the last confirm.
        var closes = 0

        var isIdle: Bool { suspects.isEmpty && inFlight.isEmpty }

        /// Copies for the end of the queue that may be in it already.
        var renewalCount: Int { (inFlight.values + suspects).count(where: \.isRenewal) }

        mutating func takeUnconfirmed() -> [Item] {
            defer { unconfirmed = [] }
            return unconfirmed
        }

        /// The broker closed the connection over one of these messages: each is published again alone.
        ///
        /// - Returns: The message that is not published again, because the broker closed the connection over it alone
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

    /// What the run asks the broker about the queue.
    struct Inspection {
        enum Question {
            case lock, length, watch
            /// Whether there is really none: RabbitMQ also says that a quorum queue has 0 messages if the queue does
            /// not answer within 250 ms. Source: rabbit_quorum_queue.erl, `stat/2`.
            case emptiness
        }

        /// The question without an answer yet.
        var question: Question?
        /// When the length is asked next.
        var nextWatch = Instant.distantFuture
        /// When the queue last showed that it has a message.
        var lastDelivery: Instant
    }

    /// How far the run is with its end.
    struct Shutdown {
        /// On the way from the last delivery to the end of the consumer.
        enum Departure { case taking, stopping, stopped }

        var departure = Departure.taking
        var flush: AcknowledgementFlush?
        /// When the connections are closed, whatever is under way.
        var deadline = Instant.distantFuture
        /// Whether the connections are being closed.
        var isClosing = false
    }
}
