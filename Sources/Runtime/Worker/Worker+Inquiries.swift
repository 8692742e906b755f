import AMQP
import Core
import Pipeline

/// Inquiries to the broker on a separate control connection. One is pending at a time.
extension Worker {
    enum Inquiry {
        /// Whether the requester of returned direct replies is connected.
        case requester
        /// Whether a queue is a stream.
        case stream(QueueID)
    }

    /// A delivery arrived. It goes to the intake unless its queue may be a stream.
    mutating func take(_ delivery: Delivery, oversizeBody: UInt64? = nil) {
        guard !queues[delivery.queue.index].suspicion.holds(delivery, oversizeBody: oversizeBody) else { return }
        forward(delivery, oversizeBody: oversizeBody)
    }

    private mutating func forward(_ delivery: Delivery, oversizeBody: UInt64?) {
        if let oversizeBody {
            intake.receivedOversize(delivery, bodySize: oversizeBody, at: now)
        } else {
            intake.received(delivery, at: now)
        }
        performActions()
    }

    /// Sends the next inquiry, unless one is pending.
    mutating func inquire() {
        guard isWorking, inquiry == nil else { return }
        let suspect = drain.stage == .running ? queues.firstIndex { $0.suspicion.isOpen } : nil
        guard suspect != nil || outbox.checksRequesters else { return }
        inquiries.start(at: now.instant)
        guard inquiries.isOpen else { return }
        if let suspect {
            // A stream refuses basic.get; other queues return a message or report that they are empty.
            inquiry = .stream(QueueID(suspect))
            inquiries.request(.get(queue: intake.settings.queues[suspect].name), at: now.instant)
        } else if let name = outbox.nextRequester() {
            inquiry = .requester
            inquiries.request(.inspectQueue(String(decoding: name, as: UTF8.self)), at: now.instant)
        }
    }

    mutating func takeInquiries() {
        while let event = inquiries.nextEvent(at: now.instant) {
            switch event {
            case .engine(.responded(let response)): responded(response)
            case .engine(.opened): opened.insert("inquiring")
            case .disconnected(_, let error, _): inquiryLost(error)
            case .engine, .closed: break
            }
        }
    }

    private mutating func responded(_ response: ControlResponse) {
        let inquiry = inquiry
        self.inquiry = nil
        if case .got(let delivery, _, _) = response {
            inquiries.nack(epoch: delivery.epoch, tag: delivery.tag, requeue: true, at: now.instant)
        }
        switch inquiry {
        case .requester? where isWorking:
            let isConnected = if case .refused = response { false } else { true }
            outbox.requesterChecked(isConnected: isConnected, at: now)
            performActions()
        case .stream(let queue)? where drain.stage == .running:
            for held in queues[queue.index].suspicion.clear() {
                forward(held.delivery, oversizeBody: held.oversizeBody)
            }
        case .requester?, .stream?, nil: break
        }
    }

    private mutating func inquiryLost(_ error: AMQPError) {
        let inquiry = inquiry
        self.inquiry = nil
        switch inquiry {
        case .stream(let queue)? where error.replyCode == Self.notImplemented:
            queues[queue.index].suspicion.confirm()
            events.append(.consumesStream(intake.settings.queues[queue.index].name))
        default:
            outbox.requesterCheckLost()
            connectionLost("inquiring", error)
        }
    }

    /// The reply code of a stream to `basic.get`. Source: AMQP 0-9-1, section 1.2 (constants).
    private static let notImplemented: UInt16 = 540
}
