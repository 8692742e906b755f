import AMQP
import Core

/// One request from an operator through a queue, and the result from a worker.
///
/// Sans-IO like a worker. It reopens lost connections until the timeout.
final class QueuedNotification: Run {
    enum End {
        case result(OneOffResult)
        /// An error message for operators.
        case failed(String)
    }

    private let request: OneOffRequest
    private let queue: String
    private let form: OneOffRequest.Form
    private let replies: ReplyQueue
    private var sequence: UInt64?
    private var isQueued = false
    private(set) var end: End?

    /// - Parameter replies: its time limit is the total timeout.
    init(_ request: OneOffRequest, to queue: String, _ form: OneOffRequest.Form, replies: ReplyQueue) {
        self.request = request
        self.queue = queue
        self.form = form
        self.replies = replies
    }

    var nextDeadline: Instant? {
        [end == nil ? replies.broker.deadline : nil, replies.nextDeadline].compactMap(\.self).min()
    }

    var isFinished: Bool { end != nil && replies.isClosed }

    func step(at moment: Moment) {
        let now = moment.instant
        replies.expire(at: now)
        while let event = replies.nextEvent(at: now) {
            switch event {
            case .ready: break
            case .reply(let delivery): received(delivery, at: now)
            case .confirmed(_, .acked): isQueued = true
            case .confirmed(_, .lost), .confirmed(_, .nacked): sequence = nil
            case .confirmed(_, .returned(_, let text)):
                finish(.failed("queue \"\(queue)\" does not receive messages (\(text)): check that it exists"), at: now)
            case .failed(let error): finish(.failed(error.description), at: now)
            }
        }
        guard end == nil else { return }
        publish(at: now)
        if let cause = replies.broker.failure(at: now) { finish(.failed(complaint(cause)), at: now) }
    }

    private func publish(at now: Instant) {
        guard end == nil, sequence == nil, replies.canPublish else { return }
        do {
            sequence = try replies.publish(request.publication(to: queue, replyTo: replies.name, form))
        } catch {
            finish(.failed(error.description), at: now)
        }
    }

    private func received(_ delivery: Delivery, at now: Instant) {
        replies.acknowledge(delivery, at: now)
        guard delivery.correlationID?.elementsEqual(request.id) == true else { return }
        // With `results.per: request` the result is an array with one element.
        let isArray = delivery.body.first == UInt8(ascii: "[")
        let json = isArray ? delivery.body.dropFirst().dropLast() : delivery.body
        let result = OneOffResult(json: json) { name in
            guard case .text(let text) = delivery.header(name) else { return nil }
            return text
        }
        guard let result else { return }
        finish(.result(result), at: now)
    }

    func trouble(at now: Instant) -> String? {
        isQueued ? nil : replies.broker.trouble(at: now)
    }

    private func complaint(_ cause: String) -> String {
        guard !isQueued else {
            return "no result came in time: the request is in queue \"\(queue)\" or with a worker, and will be sent"
        }
        return "the request was not queued in time: \(cause)"
    }

    func stop(at now: Moment) {
        finish(.failed("stopped"), at: now.instant)
    }

    private func finish(_ end: End, at now: Instant) {
        guard self.end == nil else { return }
        self.end = end
        replies.close(at: now)
    }
}
