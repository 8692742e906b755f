package import Core

/// The queue of messages for a decoder program: waiting, in flight, and suspected of crashing it.
///
/// After a failure, the messages in flight are resent one by one, before all others. A message that is the only one in
/// flight in two failures, between which the program answered another one, is to blame. Without such an answer the
/// program may be broken, and nothing is to blame.
package struct DecodingQueue {
    package struct Limits: Equatable, Sendable {
        /// The maximum number of messages per batch.
        package var batch = 64
        /// The maximum number of messages in flight.
        package var inFlight = 512
        /// The timeout of a batch.
        package var deadline = Duration.seconds(5)
    }

    /// The number of failures with only this message in flight after which it is quarantined.
    package static let maximumStrikes = 2

    private let limits: Limits
    private var waiting = HandleQueue()
    private var suspects = HandleQueue()
    /// The failures in which each was the only message in flight, and the answers before the last one. Those without an
    /// answer in between count as one.
    private var strikes: [Handle: (count: Int, answered: UInt64)] = [:]
    private var answered: UInt64 = 0
    private var asked: [UInt64: (handle: Handle, batch: Int)] = [:]
    private var lastNumber: UInt64 = 0
    /// The batches in flight. The oldest has unanswered messages.
    private var batches: [(sent: Instant, outstanding: Int)] = []
    /// The number of batches before the oldest.
    private var finished = 0
    /// When the batch before the oldest was answered.
    private var finishedAt = Instant.distantPast
    /// Whether the only message in flight is a suspect.
    private var isAlone = false

    package init(_ limits: Limits) {
        self.limits = limits
    }

    package var count: Int { waiting.count + suspects.count + asked.count }

    package var inFlight: Int { asked.count }

    package var deadline: Instant? {
        batches.first.map { max($0.sent, finishedAt) + limits.deadline }
    }

    package mutating func append(_ handle: Handle) {
        waiting.append(handle)
    }

    /// Removes the next batch from the queue.
    ///
    /// - Parameter write: writes a message under its number, and returns whether there is room for another one.
    /// - Returns: whether there was a message to send.
    package mutating func ask(at now: Instant, _ write: (UInt64, Handle) -> Bool) -> Bool {
        let isSuspicious = !suspects.isEmpty
        let takesSuspect = isSuspicious && !needsAnswer
        guard isSuspicious ? asked.isEmpty : !isAlone && asked.count < limits.inFlight else { return false }
        let most = isSuspicious ? 1 : min(limits.batch, limits.inFlight - asked.count)
        var batch = (sent: now, outstanding: 0)
        while batch.outstanding < most, let handle = takesSuspect ? suspects.popFirst() : waiting.popFirst() {
            lastNumber += 1
            asked[lastNumber] = (handle: handle, batch: finished + batches.count)
            batch.outstanding += 1
            guard write(lastNumber, handle) else { break }
        }
        guard batch.outstanding > 0 else { return false }
        isAlone = isSuspicious
        batches.append(batch)
        return true
    }

    /// Whether every suspect has failed alone since the last answer, so that another message has to show whether the
    /// program works. Those that failed are at the end.
    private var needsAnswer: Bool {
        guard !waiting.isEmpty, let first = suspects.first, let strikes = strikes[first] else { return false }
        return strikes.answered == answered
    }

    /// - Returns: the message with this number; `nil` if it was not sent or already has a result.
    package mutating func responded(_ number: UInt64, at now: Instant) -> Handle? {
        guard let entry = asked.removeValue(forKey: number) else { return nil }
        strikes[entry.handle] = nil
        answered += 1
        isAlone = false
        batches[entry.batch - finished].outstanding -= 1
        while let first = batches.first, first.outstanding == 0 {
            batches.removeFirst()
            finished += 1
            finishedAt = now
        }
        return entry.handle
    }

    /// - Returns: the message to blame, which is removed from the queue.
    package mutating func failed() -> Handle? {
        defer {
            asked = [:]
            finished += batches.count
            batches = []
            finishedAt = .distantPast
            isAlone = false
        }
        if asked.count == 1, let handle = asked.values.first?.handle {
            var found = strikes[handle] ?? (count: 0, answered: .max)
            if found.answered != answered { found.count += 1 }
            found.answered = answered
            if found.count >= Self.maximumStrikes {
                strikes[handle] = nil
                return handle
            }
            strikes[handle] = found
        }
        for (_, entry) in asked.sorted(by: { $0.key < $1.key }) { suspects.append(entry.handle) }
        return nil
    }
}
