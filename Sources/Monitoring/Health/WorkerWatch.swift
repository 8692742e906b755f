package import Core
package import Runtime

/// Tracks the snapshots of the workers, and how long requests for snapshots have been pending.
///
/// Workers are asked when a page needs their snapshots, and at least every ``interval`` to check that they are alive. A
/// worker has at most one pending request, so they do not pile up for a stuck one.
package struct WorkerWatch: Sendable {
    /// The longest interval between requests to a worker.
    package static let interval = Duration.seconds(5)
    /// The longest time for a live worker to answer.
    package static let timeLimit = Duration.seconds(10)
    /// How long a page waits for a new snapshot before it uses the previous one.
    package static let responseTimeout = Duration.seconds(1)

    private struct Entry: Sendable {
        var snapshot: WorkerSnapshot?
        var respondedAt: Instant
        /// When the pending request was made.
        var openSince: Instant?
        var hasEnded = false
    }

    private var workers: [Entry]
    private var nextRound: Instant
    /// The end of the pages' wait.
    private var waitsUntil: Instant?

    package init(workers: Int, at now: Instant) {
        self.workers = Array(repeating: Entry(respondedAt: now), count: workers)
        nextRound = now + Self.interval
    }

    // MARK: Requests and responses

    /// A page needs new snapshots.
    ///
    /// - Returns: The workers to ask now.
    package mutating func want(at now: Instant) -> [Int] {
        waitsUntil = waitsUntil ?? now + Self.responseTimeout
        return ask(at: now)
    }

    private mutating func ask(at now: Instant) -> [Int] {
        nextRound = now + Self.interval
        let idle = workers.indices.filter { !workers[$0].hasEnded && workers[$0].openSince == nil }
        for index in idle { workers[index].openSince = now }
        return idle
    }

    package mutating func responded(_ worker: Int, _ snapshot: WorkerSnapshot, at now: Instant) {
        precondition(workers[worker].openSince != nil, "a response must match a request")
        workers[worker].snapshot = snapshot
        workers[worker].respondedAt = now
        workers[worker].openSince = nil
    }

    package mutating func ended(_ worker: Int) {
        workers[worker].hasEnded = true
        workers[worker].openSince = nil
    }

    package func hasEnded(_ worker: Int) -> Bool { workers[worker].hasEnded }

    // MARK: Time

    package var nextDeadline: Instant {
        min(nextRound, waitsUntil ?? .distantFuture)
    }

    /// - Returns: The workers to ask now because the interval has passed.
    package mutating func round(at now: Instant) -> [Int] {
        now < nextRound ? [] : ask(at: now)
    }

    /// Whether pages waited until now: all awaited workers have answered, or the timeout has passed.
    package mutating func isComplete(at now: Instant) -> Bool {
        guard let waitsUntil else { return false }
        guard waitsUntil <= now || !workers.contains(where: { $0.openSince != nil }) else { return false }
        self.waitsUntil = nil
        return true
    }

    // MARK: Results

    package func seen(at now: Instant) -> [ProcessSnapshot.Worker] {
        workers.map { worker in
            ProcessSnapshot.Worker(
                snapshot: worker.snapshot, silence: worker.hasEnded ? .zero : now - worker.respondedAt,
                isAlive: worker.openSince.map { now - $0 < Self.timeLimit } ?? true,
                hasEnded: worker.hasEnded)
        }
    }
}
