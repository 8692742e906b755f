package import Core
package import Runtime

/// Who of the workers has answered, and since when those have not that were asked.
///
/// A worker is asked for what it has to tell when somebody wants to know, and every ``interval`` anyway, to see whether
/// it turns. Of questions without an answer a worker has at most ``maximumOpen``: one that is stuck is not buried.
package struct WorkerWatch: Sendable {
    /// How often each is asked at least.
    package static let interval = Duration.seconds(5)
    /// How long a worker that turns may take to answer.
    package static let patience = Duration.seconds(10)
    /// How long an answer is waited for before the one before it has to do.
    package static let answerTimeout = Duration.seconds(1)
    /// Questions at once: one that is as good as answered, and one that is asked after whatever it is about.
    package static let maximumOpen: UInt64 = 2

    private struct Entry: Sendable {
        var snapshot: WorkerSnapshot?
        var asked: UInt64 = 0
        var answered: UInt64 = 0
        /// What somebody waits for.
        var wanted: UInt64 = 0
        var answeredAt: Instant
        /// When the oldest question was asked that has no answer.
        var openSince: Instant?
        var hasEnded = false

        var isWanted: Bool { !hasEnded && answered < wanted }
    }

    private var workers: [Entry]
    private var nextRound: Instant
    /// Until when somebody waits.
    private var waitsUntil: Instant?

    package init(workers: Int, at now: Instant) {
        self.workers = Array(repeating: Entry(answeredAt: now), count: workers)
        nextRound = now + Self.interval
    }

    // MARK: Questions and answers

    /// Somebody wants to know.
    ///
    /// - Returns: The workers that are to be asked now.
    package mutating func want(at now: Instant) -> [Int] {
        let asked = ask(at: now)
        for index in workers.indices { workers[index].wanted = workers[index].asked }
        if waitsUntil == nil { waitsUntil = now + Self.answerTimeout }
        return asked
    }

    private mutating func ask(at now: Instant) -> [Int] {
        nextRound = now + Self.interval
        return workers.indices.filter { index in
            guard !workers[index].hasEnded, workers[index].asked - workers[index].answered < Self.maximumOpen else {
                return false
            }
            workers[index].asked += 1
            if workers[index].openSince == nil { workers[index].openSince = now }
            return true
        }
    }

    package mutating func answered(_ worker: Int, _ snapshot: WorkerSnapshot, at now: Instant) {
        precondition(workers[worker].answered < workers[worker].asked, "a worker answers what it was asked")
        workers[worker].answered += 1
        workers[worker].snapshot = snapshot
        workers[worker].answeredAt = now
        workers[worker].openSince = workers[worker].answered < workers[worker].asked ? now : nil
    }

    package mutating func ended(_ worker: Int) {
        workers[worker].hasEnded = true
    }

    // MARK: Time

    package var nextDeadline: Instant {
        min(nextRound, waitsUntil ?? .distantFuture)
    }

    /// - Returns: The workers that are to be asked now because nobody has for long.
    package mutating func round(at now: Instant) -> [Int] {
        now < nextRound ? [] : ask(at: now)
    }

    /// Whether all have answered that somebody waits for, or have had their time.
    package mutating func isComplete(at now: Instant) -> Bool {
        guard let waitsUntil else { return true }
        guard waitsUntil <= now || !workers.contains(where: \.isWanted) else { return false }
        self.waitsUntil = nil
        return true
    }

    // MARK: What is known

    package func seen(at now: Instant) -> [Observation.Worker] {
        workers.map { worker in
            Observation.Worker(
                snapshot: worker.snapshot, silence: worker.hasEnded ? .zero : now - worker.answeredAt,
                isAlive: worker.hasEnded || worker.openSince.map { now - $0 < Self.patience } ?? true,
                hasEnded: worker.hasEnded)
        }
    }
}
