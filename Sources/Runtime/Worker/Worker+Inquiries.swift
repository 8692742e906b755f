import AMQP
import Core
import Pipeline

/// Asks the broker whether a queue is a stream, on a separate connection, because the answer may end it.
extension Worker {
    /// Sends the next inquiry, unless one is pending.
    mutating func inquire() {
        guard drain.stage == .running, inquiry == nil, let suspect = queues.firstIndex(where: { $0.suspicion.isOpen })
        else { return }
        inquiries.start(at: now.instant)
        guard inquiries.isOpen else { return }
        inquiry = QueueID(suspect)
        // A stream refuses basic.get; other queues return a message or report that they are empty.
        inquiries.request(.get(queue: intake.settings.queues[suspect].name), at: now.instant)
    }

    mutating func takeInquiries() {
        while let event = inquiries.nextEvent(at: now.instant) {
            switch event {
            case .engine(.responded(let response)): responded(response)
            case .engine(.opened): connectionOpened(.inquiring)
            case .disconnected(_, let error, _): inquiryLost(error)
            case .engine, .closed: break
            }
        }
    }

    private mutating func responded(_ response: ControlResponse) {
        if case .got(let delivery, _, _) = response {
            inquiries.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now.instant)
        }
        guard let queue = inquiry.take(), drain.stage == .running else { return }
        for held in queues[queue.index].suspicion.answered() { give(held.delivery, oversizeBody: held.oversizeBody) }
    }

    private mutating func inquiryLost(_ error: AMQPError) {
        guard let queue = inquiry.take(), error.replyCode == Self.notImplemented else {
            return connectionLost(.inquiring, error)
        }
        queues[queue.index].suspicion.confirm()
        events.append(.consumesStream(intake.settings.queues[queue.index].name))
    }

    /// The reply code of a stream to `basic.get`. Source: AMQP 0-9-1, section 1.2 (constants).
    private static let notImplemented: UInt16 = 540
}
