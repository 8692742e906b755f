package import Core

/// The messages that a program is asked about: who waits, who was asked, and who is suspected of its death.
///
/// After a failure, those that were asked are asked again one by one, before all others. One that is alone in two
/// failures is to blame.
package struct DecodingLine {
    package struct Limits: Sendable {
        /// Messages of one batch.
        package var batch = 64
        /// Messages without an answer.
        package var inFlight = 512
        /// For a batch.
        package var deadline = Duration.seconds(5)

        package init() {}
    }

    /// So often a message may be alone when the program fails.
    package static let maximumStrikes = 2

    private struct Batch {
        let sent: Instant
        var unanswered: Int
    }

    private struct Asked {
        let handle: Handle
        let batch: Int
    }

    private let limits: Limits
    private var waiting = HandleQueue()
    private var suspects = HandleQueue()
    /// How often each was alone in a failure.
    private var strikes: [Handle: Int] = [:]
    private var asked: [UInt64: Asked] = [:]
    private var lastNumber: UInt64 = 0
    /// The oldest one has messages without an answer.
    private var batches: [Batch] = []
    /// How many batches came before the oldest one.
    private var finished = 0
    /// When the one before the oldest was answered.
    private var finishedAt = Instant.distantPast
    /// Whether the one message that was asked is a suspect.
    private var isAlone = false

    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// Every message without an answer.
    package var count: Int { waiting.count + suspects.count + asked.count }

    /// Messages that the program has and has not answered.
    package var inFlight: Int { asked.count }

    /// When the program has taken too long.
    package var deadline: Instant? {
        batches.first.map { max($0.sent, finishedAt) + limits.deadline }
    }

    /// A message, under a handle of the caller's that is not in use here.
    package mutating func append(_ handle: Handle) {
        waiting.append(handle)
    }

    /// Takes the next batch out.
    ///
    /// - Parameter write: writes a message down under its number, and returns whether there is room for another one.
    /// - Returns: whether there was anything to ask.
    package mutating func ask(at now: Instant, _ write: (UInt64, Handle) -> Bool) -> Bool {
        let isSuspicious = !suspects.isEmpty
        guard isSuspicious ? asked.isEmpty : !isAlone && asked.count < limits.inFlight else { return false }
        let most = isSuspicious ? 1 : min(limits.batch, limits.inFlight - asked.count)
        var batch = Batch(sent: now, unanswered: 0)
        while batch.unanswered < most, let handle = isSuspicious ? suspects.popFirst() : waiting.popFirst() {
            lastNumber += 1
            asked[lastNumber] = Asked(handle: handle, batch: finished + batches.count)
            batch.unanswered += 1
            guard write(lastNumber, handle) else { break }
        }
        guard batch.unanswered > 0 else { return false }
        isAlone = isSuspicious
        batches.append(batch)
        return true
    }

    /// - Returns: the message that was asked about under this number; `nil` if none was, or it has been answered.
    package mutating func answered(_ number: UInt64, at now: Instant) -> Handle? {
        guard let entry = asked.removeValue(forKey: number) else { return nil }
        strikes[entry.handle] = nil
        isAlone = false
        batches[entry.batch - finished].unanswered -= 1
        while let first = batches.first, first.unanswered == 0 {
            batches.removeFirst()
            finished += 1
            finishedAt = now
        }
        return entry.handle
    }

    /// The program has failed.
    ///
    /// - Returns: the message that is to blame for it, which is out of the line.
    package mutating func failed() -> Handle? {
        defer {
            asked = [:]
            finished += batches.count
            batches = []
            finishedAt = .distantPast
            isAlone = false
        }
        if asked.count == 1, let handle = asked.values.first?.handle {
            let count = strikes[handle, default: 0] + 1
            if count >= Self.maximumStrikes {
                strikes[handle] = nil
                return handle
            }
            strikes[handle] = count
        }
        for (_, entry) in asked.sorted(by: { $0.key < $1.key }) { suspects.append(entry.handle) }
        return nil
    }
}
