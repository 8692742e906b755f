package import Core
import DequeModule
package import Logging

/// A decoder in a separate process: keeps one program running and sends it messages.
///
/// Every message gets a result from ``nextResult()``, even if the program fails.
package final class DecoderProgram {
    package struct Counters: Sendable {
        /// Failures of the program; it was restarted after each.
        package var restarts: UInt64 = 0
        /// Messages that caused failures.
        package var quarantined: UInt64 = 0
    }

    private enum State {
        case down(until: Instant)
        case starting(deadline: Instant)
        case working
        /// Is being killed, for this reason.
        case failing(reason: String)
        case stopping
        case stopped
    }

    package let name: String
    package private(set) var counters = Counters()
    private let options: ProcessDecoder.Options
    private unowned let host: any ProgramHost
    private let log: Logger
    private var state: State
    private var conversation: ProcessConversation?
    private var queue: DecodingQueue
    private var deliveries: [Handle: Delivery] = [:]
    private var results = Deque<(handle: Handle, decoded: Decoded)>()
    /// Failures since the last progress.
    private var failures = 0
    package private(set) var lastFailure: String?
    /// Since when it has not worked; `nil` while it works.
    private var downSince: Instant?

    /// The time that the program has to exit when it is no longer needed.
    package static let exitTimeout = Duration.seconds(5)

    package init(name: String, _ options: ProcessDecoder.Options, host: any ProgramHost, log: Logger, at now: Instant) {
        self.name = name
        self.options = options
        self.host = host
        var log = log
        log[metadataKey: "decoder"] = "\(name)"
        self.log = log
        queue = DecodingQueue(options.queue)
        state = .down(until: now)
        downSince = now
    }

    /// Why it serves no messages: the program does not run, or it failed and has answered nothing since.
    package var outage: Outage? {
        downSince.map { Outage(since: $0, cause: lastFailure ?? "it has not started yet") }
    }

    /// Whether the program is running and has sent its hello.
    package var hasStarted: Bool {
        if case .working = state { true } else { false }
    }

    package var hasStopped: Bool {
        if case .stopped = state { true } else { false }
    }

    package var waiting: Int { queue.count }

    /// Queues a message. The handle is in use until its result is returned.
    package func ask(_ handle: Handle, _ delivery: Delivery) {
        deliveries[handle] = delivery
        queue.append(handle)
    }

    package func nextResult() -> (handle: Handle, decoded: Decoded)? {
        results.popFirst()
    }

    /// Stops the program. Pending messages get no result.
    package func stop() {
        switch state {
        case .stopping, .stopped: return
        case .down: state = .stopped
        case .failing: state = .stopping
        case .starting, .working:
            state = .stopping
            guard let conversation else { return }
            conversation.ignoresInput = true
            conversation.isEnding = true
            host.stop(conversation, within: Self.exitTimeout)
        }
    }

    // MARK: Turns

    package var nextDeadline: Instant? {
        switch state {
        case .down(let until): until
        case .starting(let deadline): deadline
        case .working: queue.deadline
        case .failing, .stopping, .stopped: nil
        }
    }

    /// Processes the program's output, performs due work, and sends messages up to the limit.
    package func step(at now: Moment) {
        while let event = conversation?.nextEvent() { take(event, at: now.instant) }
        switch state {
        case .down(let until) where until <= now.instant: start(at: now.instant)
        case .starting(let deadline) where deadline <= now.instant:
            fail("it sent no hello within \(options.startTime)")
        case .working:
            if let deadline = queue.deadline, deadline <= now.instant {
                fail("it took longer than \(options.queue.deadline)")
            } else {
                send(at: now)
            }
        default: break
        }
    }

    private func start(at now: Instant) {
        let conversation = ProcessConversation()
        self.conversation = conversation
        state = .starting(deadline: now + options.startTime)
        host.start(options.program, conversation)
    }

    private func send(at now: Moment) {
        while let conversation, conversation.hasRoom {
            var frame = ProcessFrame.beginMessages(at: now.wall)
            let isAsking = queue.ask(at: now.instant) { number, handle in
                guard let delivery = deliveries[handle] else {
                    preconditionFailure("a message waits with its delivery")
                }
                ProcessFrame.append(delivery, number: number, to: &frame)
                return frame.count < ProcessFrame.fullBatch
            }
            guard isAsking else { return }
            ProcessFrame.endMessages(&frame)
            conversation.send(frame)
        }
    }

    // MARK: Program output

    private func take(_ event: ProcessConversation.Event, at now: Instant) {
        switch event {
        case .line(let text):
            log.notice("the decoder writes: \(text)")
        case .ended(let failure): ended(failure, at: now)
        case .violation(let reason): fail("protocol error: \(reason)")
        case .frame(let frame):
            do throws(DecodingFailure) {
                try responded(try ProcessResponse(frame), at: now)
            } catch {
                fail("protocol error: \(error.detail)")
            }
        }
    }

    private func responded(_ response: ProcessResponse, at now: Instant) throws(DecodingFailure) {
        switch (state, response) {
        case (.starting, .hello(ProcessFrame.protocolVersion)):
            state = .working
            if failures == 0 || waiting == 0 { downSince = nil }
            log.info("the decoder's program is there")
        case (.starting, .hello(let version)):
            throw DecodingFailure("it speaks protocol \(version), expected \(ProcessFrame.protocolVersion)")
        case (.working, .responses(let responses)):
            for (number, response) in responses {
                guard let handle = queue.responded(number, at: now) else {
                    throw DecodingFailure("a response has an unknown id, or came twice")
                }
                failures = 0
                downSince = nil
                deliveries[handle] = nil
                results.append((handle, ProcessResponse.decoded(response)))
            }
        case (.starting, .responses), (.working, .hello):
            throw DecodingFailure("expected hello first, and once")
        case (.down, _), (.failing, _), (.stopping, _), (.stopped, _): break
        }
    }

    /// Kills the program if it runs. It counts as failed once it has exited.
    private func fail(_ reason: String) {
        switch state {
        case .starting, .working: state = .failing(reason: reason)
        case .down, .failing, .stopping, .stopped: return
        }
        guard let conversation else { return }
        conversation.ignoresInput = true
        host.stop(conversation, within: .zero)
    }

    private func ended(_ failure: TransportError?, at now: Instant) {
        conversation = nil
        switch state {
        case .stopping: state = .stopped
        case .failing(let reason): failed(reason, at: now)
        case .starting, .working: failed(failure?.message ?? "it closed its output", at: now)
        case .down, .stopped: break
        }
    }

    private func failed(_ reason: String, at now: Instant) {
        counters.restarts += 1
        failures += 1
        lastFailure = reason
        downSince = downSince ?? now
        let held = queue.inFlight
        if let culprit = queue.failed() {
            counters.quarantined += 1
            // Several may be to blame in a row: the next one is tried soon.
            failures = 0
            let id = deliveries.removeValue(forKey: culprit)?.messageID.map { String(decoding: $0, as: UTF8.self) }
            log.error(
                "a message that makes the decoder fail is quarantined",
                metadata: ["reason": "\(reason)", "messaging.message.id": "\(id ?? "")"])
            let times = DecodingQueue.maximumStrikes
            results.append(
                (
                    culprit,
                    .reject(DecodingFailure("the decoder failed \(times) times with this message alone: \(reason)"))
                ))
        }
        let pause = options.restartPause.doubled(max(failures, 1) - 1, atMost: options.longestRestartPause)
        state = .down(until: now + pause)
        log.warning(
            "the decoder's program failed and is restarted",
            metadata: [
                "reason": "\(reason)", "asked_again": .stringConvertible(held),
                "pause_seconds": .stringConvertible(pause.inSeconds),
            ])
    }
}
