package import AMQP
package import Core
import DequeModule

/// Sends one message through a copy of each retry queue, and waits until it returns. Sans-IO like a worker.
///
/// It does not use the retry queues themselves: their messages return to a request queue, where any consumer would have
/// to recognize a probe. The copy has the planned arguments of the retry queue (``TopologyRun/Purpose/compare`` checks
/// those of the real one). Its name begins with the same name, so that most policies apply to both. Only its dead
/// letters go to the probe's queue. Unlike a comparison, the probe proves that the broker acts on the arguments.
package final class RetryProbe: Run {
    /// One retry queue.
    package struct Level: Sendable {
        package let queue: String
        package let delay: Duration
        fileprivate let likeness: QueueDeclaration

        /// Whether a message returned long before its delay, for example because of a policy.
        package func isEarly(_ time: Duration) -> Bool {
            time < delay - .milliseconds(500)
        }
    }

    package enum Event {
        case returned(Level, after: Duration)
        /// It did not return in time.
        case lost(Level)
        /// The broker does not create the copy, or accepts no message for it.
        case refused(Level, reason: String)
        /// The broker cannot be used; `nil` if it only does not answer.
        case failed(AMQPError?)
    }

    private struct LevelProbe {
        let level: Level
        var sequence: UInt64?
        var sentAt: Instant?
        var isOver = false
    }

    /// The timeout for a connection or for a response of the broker.
    private static let timeLimit = Duration.seconds(30)
    /// The tolerance for late messages, beyond the delay.
    private static let latest = Duration.seconds(15)
    /// The timeout for the cleanup; queues that remain then expire.
    private static let cleanupTimeout = Duration.seconds(5)

    /// Levels whose delay exceeds the limit.
    package let left: [Level]
    private let replies: ReplyQueue
    private let control: AMQPConnection
    private var probes: [LevelProbe]
    private var declared = 0
    private var isAsking = false
    private let start: Instant
    private var now: Instant
    private var lastProgress: Instant
    private var events = Deque<Event>()
    /// The number of copies to delete and the deadline for it; `nil` before the end.
    private var cleaning: (rest: Int, deadline: Instant)?

    /// - Parameters:
    ///   - within: the longest delay to wait for.
    ///   - name: of the reply queue; unique to this run.
    ///   - connect: makes the connection for a role.
    package init(
        _ plan: TopologyPlan, within: Duration, name: String, at now: Instant,
        connect: (AMQPRole) throws -> AMQPConnection
    ) rethrows {
        let levels = plan.steps.compactMap { Level($0, replyQueue: name) }
        left = levels.filter { $0.delay > within }
        probes = levels.filter { $0.delay <= within }.map { LevelProbe(level: $0) }
        replies = try ReplyQueue(name: name, prefetch: 100, at: now, connect: connect)
        control = try connect(.control)
        control.start(at: now)
        (start, self.now, lastProgress) = (now, now, now)
    }

    package func nextEvent() -> Event? {
        events.popFirst()
    }

    /// In seconds: the elapsed time and the longest delay.
    package var progress: (done: Int, of: Int) {
        let longest = probes.map(\.level.delay).max() ?? .zero
        return (Int((now - start).components.seconds), Int(longest.components.seconds))
    }

    package var nextDeadline: Instant? {
        var deadlines = [control.nextDeadline, replies.nextDeadline].compactMap(\.self)
        if let cleaning {
            if !control.isClosed { deadlines.append(cleaning.deadline) }
            return deadlines.min()
        }
        if !isWaiting { deadlines.append(lastProgress + Self.timeLimit) }
        for probe in probes where !probe.isOver {
            if let sent = probe.sentAt { deadlines.append(deadline(of: probe, sent: sent)) }
        }
        return deadlines.min()
    }

    /// Whether everything was sent.
    private var isWaiting: Bool { probes.allSatisfy { $0.isOver || $0.sentAt != nil } }

    private func deadline(of probe: LevelProbe, sent: Instant) -> Instant {
        sent + probe.level.delay + Self.latest
    }

    package func step(at moment: Moment) {
        now = moment.instant
        control.expire(at: now)
        replies.expire(at: now)
        takeControlEvents(at: now)
        takeResponses(at: now)
        guard cleaning == nil else { return clean(at: now) }
        declare(at: now)
        publish(at: now)
        for index in probes.indices where !probes[index].isOver {
            guard let sent = probes[index].sentAt, now >= deadline(of: probes[index], sent: sent) else { continue }
            finish(index, .lost(probes[index].level))
        }
        if probes.allSatisfy(\.isOver) { return end(at: now) }
        if !isWaiting, now >= lastProgress + Self.timeLimit { fail(replies.lastLoss, at: now) }
    }

    // MARK: Queue copies

    private func takeControlEvents(at now: Instant) {
        while let event = control.nextEvent(at: now) {
            switch event {
            case .engine(.responded(let response)):
                isAsking = false
                guard cleaning == nil else { continue }
                lastProgress = now
                if case .refused(let error) = response {
                    finish(declared, .refused(probes[declared].level, reason: error.message))
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
        guard control.isOpen, !isAsking, declared < probes.count else { return }
        isAsking = true
        control.request(.declareQueue(probes[declared].level.likeness), at: now)
    }

    // MARK: Messages

    private func publish(at now: Instant) {
        guard replies.canPublish, declared == probes.count else { return }
        for index in probes.indices where !probes[index].isOver && probes[index].sentAt == nil {
            guard replies.canPublish else { return }
            var properties = PublicationProperties()
            properties.messageID = ArraySlice("\(index)".utf8)
            properties.type = ArraySlice("harebell.probe".utf8)
            let publication = Publication(
                routingKey: ArraySlice(probes[index].level.likeness.name.utf8), properties: properties, body: [])
            do {
                probes[index].sequence = try replies.publish(publication)
                probes[index].sentAt = now
                lastProgress = now
            } catch {
                finish(index, .refused(probes[index].level, reason: error.message))
            }
        }
    }

    private func takeResponses(at now: Instant) {
        while let event = replies.nextEvent(at: now) {
            switch event {
            case .ready: lastProgress = now
            case .reply(let delivery):
                replies.acknowledge(delivery, at: now)
                arrived(delivery, at: now)
            case .confirmed(let sequence, let confirmation):
                guard let index = probes.firstIndex(where: { $0.sequence == sequence }) else { continue }
                switch confirmation {
                case .acked: break
                case .lost:
                    probes[index].sentAt = nil
                    lastProgress = now
                case .nacked: finish(index, .refused(probes[index].level, reason: "the broker did not confirm it"))
                case .returned(_, let text): finish(index, .refused(probes[index].level, reason: text))
                }
            case .failed(let error): fail(error, at: now)
            }
        }
    }

    private func arrived(_ delivery: Delivery, at now: Instant) {
        guard let id = delivery.messageID, let index = Int(String(decoding: id, as: UTF8.self)),
            probes.indices.contains(index), !probes[index].isOver, let sent = probes[index].sentAt
        else { return }
        finish(index, .returned(probes[index].level, after: now - sent))
    }

    private func finish(_ index: Int, _ event: Event) {
        guard !probes[index].isOver else { return }
        probes[index].isOver = true
        events.append(event)
    }

    // MARK: End

    private func fail(_ error: AMQPError?, at now: Instant) {
        guard cleaning == nil else { return }
        events.append(.failed(error))
        end(at: now)
    }

    package func stop(at now: Moment) {
        end(at: now.instant)
    }

    /// Deletes the queues that the probe created.
    private func end(at now: Instant) {
        guard cleaning == nil else { return }
        cleaning = (declared, now + Self.cleanupTimeout)
        replies.close(at: now)
        clean(at: now)
    }

    private func clean(at now: Instant) {
        guard let cleaning, !isAsking || now >= cleaning.deadline else { return }
        guard control.isOpen, cleaning.rest > 0, now < cleaning.deadline else { return control.close(at: now) }
        self.cleaning?.rest -= 1
        isAsking = true
        control.request(.deleteQueue(probes[cleaning.rest - 1].level.likeness.name), at: now)
    }

    package var isFinished: Bool {
        cleaning != nil && control.isClosed && replies.isClosed
    }
}

extension RetryProbe.Level {
    /// How long a copy outlives its delay if it is not deleted, in milliseconds.
    private static let life: Int64 = 600_000
    /// In bytes. AMQP allows 255; replacing a truncated character may lengthen the name.
    private static let longestName = 250

    /// - Returns: `nil` for a step that does not declare a retry queue.
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
