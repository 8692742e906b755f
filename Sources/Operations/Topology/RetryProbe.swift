package import AMQP
package import Core
import DequeModule

/// Sends one message through a likeness of each retry queue, and waits until it comes out again. Sans-IO like a worker.
///
/// It does not go through the retry queues themselves: what leaves them lands in a request queue, and whoever consumes
/// from that, not always a worker of ours, would have to tell a probe from a request. The likeness has the arguments
/// that the retry queue is to have (``TopologyRun/Purpose/compare`` checks those of the real one) and a name that
/// begins with its name, so that a policy for one is mostly a policy for both. Only its dead letters go to a queue of
/// the probe's own. So this shows what a comparison cannot: that the broker does what the arguments say.
package final class RetryProbe: Run {
    /// One retry queue.
    package struct Level: Sendable {
        package let queue: String
        package let delay: Duration
        fileprivate let likeness: QueueDeclaration

        /// Whether a message came out of it long before its time, as when a policy of the broker says so.
        package func isEarly(_ time: Duration) -> Bool {
            time < delay - .milliseconds(500)
        }
    }

    package enum Event {
        case returned(Level, after: Duration)
        /// It did not come in time.
        case lost(Level)
        /// The broker does not make the likeness, or takes nothing into it.
        case refused(Level, reason: String)
        /// The broker cannot be used; `nil` when it is only silent.
        case failed(AMQPError?)
    }

    private struct Passage {
        let level: Level
        var sequence: UInt64?
        var sentAt: Instant?
        var isOver = false
    }

    /// How long the broker may leave us without a connection, or a request without an answer.
    private static let patience = Duration.seconds(30)
    /// How much later than its delay a message may come.
    private static let latest = Duration.seconds(15)
    /// How long the end may take; what is not deleted then expires.
    private static let farewell = Duration.seconds(5)

    /// What would have been waited for too long.
    package let left: [Level]
    private let replies: ReplyQueue
    private let control: AMQPConnection
    private var passages: [Passage]
    private var declared = 0
    private var isAsking = false
    private let start: Instant
    private var now: Instant
    private var lastProgress: Instant
    private var events = Deque<Event>()
    /// How many likenesses are still to be deleted, and until when that may take; `nil` before the end.
    private var cleaning: (rest: Int, deadline: Instant)?

    /// - Parameters:
    ///   - within: the longest delay to wait for.
    ///   - name: of the reply queue; no other run has the same.
    ///   - connect: makes the connection for a role.
    package init(
        _ plan: TopologyPlan, within: Duration, name: String, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        let levels = plan.steps.compactMap { Level($0, replyQueue: name) }
        left = levels.filter { $0.delay > within }
        passages = levels.filter { $0.delay <= within }.map { Passage(level: $0) }
        replies = try ReplyQueue(name: name, prefetch: 100, at: now, connect: connect)
        control = try connect(.control)
        control.start(at: now)
        (start, self.now, lastProgress) = (now, now, now)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    /// In seconds: those that have passed, of the longest delay that is waited for.
    package var progress: (done: Int, of: Int) {
        let longest = passages.map(\.level.delay).max() ?? .zero
        return (Int((now - start).components.seconds), Int(longest.components.seconds))
    }

    package var nextDeadline: Instant? {
        var deadlines = [control.nextDeadline, replies.nextDeadline].compactMap(\.self)
        if let cleaning {
            if !control.isClosed { deadlines.append(cleaning.deadline) }
            return deadlines.min()
        }
        if !isWaiting { deadlines.append(lastProgress + Self.patience) }
        for passage in passages where !passage.isOver {
            if let sent = passage.sentAt { deadlines.append(deadline(of: passage, sent: sent)) }
        }
        return deadlines.min()
    }

    /// Whether there is nothing left to be sent.
    private var isWaiting: Bool { passages.allSatisfy { $0.isOver || $0.sentAt != nil } }

    private func deadline(of passage: Passage, sent: Instant) -> Instant {
        sent + passage.level.delay + Self.latest
    }

    package func step(at moment: Moment) {
        now = moment.instant
        control.expire(at: now)
        replies.expire(at: now)
        takeControlEvents(at: now)
        takeReplies(at: now)
        guard cleaning == nil else { return clean(at: now) }
        declare(at: now)
        publish(at: now)
        for index in passages.indices where !passages[index].isOver {
            guard let sent = passages[index].sentAt, now >= deadline(of: passages[index], sent: sent) else { continue }
            finish(index, .lost(passages[index].level))
        }
        if passages.allSatisfy(\.isOver) { return end(at: now) }
        if !isWaiting, now >= lastProgress + Self.patience { fail(replies.lastLoss, at: now) }
    }

    // MARK: The likenesses

    private func takeControlEvents(at now: Instant) {
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.replied(let reply)):
                isAsking = false
                guard cleaning == nil else { continue }
                lastProgress = now
                if case .refused(let error) = reply {
                    finish(declared, .refused(passages[declared].level, reason: error.message))
                }
                declared += 1
            case .disconnected(_, let error, _):
                isAsking = false
                if !error.isTransient { fail(error, at: now) }
            default: break
            }
        }
    }

    private func declare(at now: Instant) {
        guard control.isOpen, !isAsking, declared < passages.count else { return }
        isAsking = true
        control.request(.declareQueue(passages[declared].level.likeness), at: now)
    }

    // MARK: The messages

    private func publish(at now: Instant) {
        guard replies.canPublish, declared == passages.count else { return }
        for index in passages.indices where !passages[index].isOver && passages[index].sentAt == nil {
            guard replies.canPublish else { return }
            var properties = PublicationProperties()
            properties.messageID = ArraySlice("\(index)".utf8)
            properties.type = ArraySlice("harebell.probe".utf8)
            let publication = Publication(
                routingKey: ArraySlice(passages[index].level.likeness.name.utf8), properties: properties, body: [])
            do {
                passages[index].sequence = try replies.publish(publication)
                passages[index].sentAt = now
                lastProgress = now
            } catch {
                finish(index, .refused(passages[index].level, reason: error.message))
            }
        }
    }

    private func takeReplies(at now: Instant) {
        while let event = replies.nextEvent(at: now) {
            switch event {
            case .ready: lastProgress = now
            case .reply(let delivery):
                replies.acknowledge(delivery, at: now)
                arrived(delivery, at: now)
            case .confirmed(let sequence, let confirmation):
                guard let index = passages.firstIndex(where: { $0.sequence == sequence }) else { continue }
                switch confirmation {
                case .acked: break
                case .lost:
                    passages[index].sentAt = nil
                    lastProgress = now
                case .nacked: finish(index, .refused(passages[index].level, reason: "the broker did not confirm it"))
                case .returned(_, let text): finish(index, .refused(passages[index].level, reason: text))
                }
            case .failed(let error): fail(error, at: now)
            }
        }
    }

    private func arrived(_ delivery: Delivery, at now: Instant) {
        guard let id = delivery.messageID, let index = Int(String(decoding: id, as: UTF8.self)),
            passages.indices.contains(index), !passages[index].isOver, let sent = passages[index].sentAt
        else { return }
        finish(index, .returned(passages[index].level, after: now - sent))
    }

    private func finish(_ index: Int, _ event: Event) {
        guard !passages[index].isOver else { return }
        passages[index].isOver = true
        events.append(event)
    }

    // MARK: The end

    private func fail(_ error: AMQPError?, at now: Instant) {
        guard cleaning == nil else { return }
        events.append(.failed(error))
        end(at: now)
    }

    package func stop(at now: Moment) {
        end(at: now.instant)
    }

    /// Deletes what it has made.
    private func end(at now: Instant) {
        guard cleaning == nil else { return }
        cleaning = (declared, now + Self.farewell)
        replies.close(at: now)
        clean(at: now)
    }

    private func clean(at now: Instant) {
        guard let cleaning, !isAsking || now >= cleaning.deadline else { return }
        guard control.isOpen, cleaning.rest > 0, now < cleaning.deadline else { return control.close(at: now) }
        self.cleaning?.rest -= 1
        isAsking = true
        control.request(.deleteQueue(passages[cleaning.rest - 1].level.likeness.name), at: now)
    }

    package var isFinished: Bool {
        cleaning != nil && control.isClosed && replies.isClosed
    }
}

extension RetryProbe.Level {
    /// How long a likeness outlives its delay where nobody deletes it, in milliseconds.
    private static let life: Int64 = 600_000
    /// In bytes; AMQP has room for 255, and a character that was cut may come out longer.
    private static let longestName = 250

    /// - Returns: `nil` for a step that is no retry queue.
    fileprivate init?(_ step: TopologyPlan.Step, replyQueue: String) {
        guard case .queue(let queue, _) = step, let milliseconds = queue.timeToLive else { return nil }
        self.queue = queue.name
        delay = .milliseconds(milliseconds)
        var likeness = queue
        let suffix = ".\(replyQueue)"
        likeness.name =
            String(decoding: queue.name.utf8.prefix(Self.longestName - suffix.utf8.count), as: UTF8.self) + suffix
        likeness.arguments["x-dead-letter-exchange"] = .string("")
        likeness.arguments["x-dead-letter-routing-key"] = .string(replyQueue)
        likeness.arguments["x-expires"] = .int64(milliseconds + Self.life)
        self.likeness = likeness
    }
}

extension QueueDeclaration {
    /// `x-message-ttl` in milliseconds.
    fileprivate var timeToLive: Int64? {
        switch arguments["x-message-ttl"] {
        case .int32(let value): Int64(value)
        case .int64(let value): value
        default: nil
        }
    }
}
