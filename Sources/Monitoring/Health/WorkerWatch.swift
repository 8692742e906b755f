package import Core
package import Runtime

/// Tracks the snapshots of the workers, and how long requests for snapshots have been pending.
///
/// Workers are asked when a page needs their snapshots, and at least every ``interval`` to check that they are alive. A
/// worker has at most ``maximumOpen`` pending requests, so they do not pile up for a stuck one.
package struct WorkerWatch: Sendable {
    /// The longest interval between requests to a worker.
    package static let interval = Duration.seconds(5)
    /// The longest time for a live worker to answer.
    package static let timeLimit = Duration.seconds(10)
    /// How long a page waits for a new snapshot before it uses the previous one.
    package static let responseTimeout = Duration.seconds(1)
    /// The maximum of pending requests: one that is about to be answered, and one made after it.
    package static let maximumOpen: UInt64 = 2

    private struct Entry: Sendable {
        var snapshot: WorkerSnapshot?
        var asked: UInt64 = 0
        var responded: UInt64 = 0
        /// The number of the request that a page waits for.
        var wanted: UInt64 = 0
        var respondedAt: Instant
        /// The start of the wait for the next response.
        var openSince: Instant?
        var hasEnded = false

        var isWanted: Bool { !hasEnded && responded < wanted }
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
        let asked = ask(at: now)
        for index in workers.indices { workers[index].wanted = workers[index].asked }
        if waitsUntil == nil { waitsUntil = now + Self.responseTimeout }
        return asked
    }

    private mutating func ask(at now: Instant) -> [Int] {
        nextRound = now + Self.interval
        return workers.indices.filter { index in
            guard !workers[index].hasEnded, workers[index].asked - workers[index].responded < Self.maximumOpen else {
                return false
            }
            workers[index].asked += 1
            if workers[index].openSince == nil { workers[index].openSince = now }
            return true
        }
    }

    package mutating func responded(_ worker: Int, _ snapshot: WorkerSnapshot, at now: Instant) {
        precondition(workers[worker].responded < workers[worker].asked, "a response must match a request")
        workers[worker].responded += 1
        workers[worker].snapshot = snapshot
        workers[worker].respondedAt = now
        workers[worker].openSince = workers[worker].responded < workers[worker].asked ? now : nil
    }

    package mutating func ended(_ worker: Int) {
        workers[worker].hasEnded = true
    }

    // MARK: Time

    package var nextDeadline: Instant {
        min(nextRound, waitsUntil ?? .distantFuture)
    }

    /// - Returns: The workers to ask now because the interval has passed.
    package mutating func round(at now: Instant) -> [Int] {
        now < nextRound ? [] : ask(at: now)
    }

    /// Whether all awaited workers have answered, or the timeout has passed.
    package mutating func isComplete(at now: Instant) -> Bool {
        guard let waitsUntil else { return true }
        guard waitsUntil <= now || !workers.contains(where: \.isWanted) else { return false }
        self.waitsUntil = nil
        return true
    }

    // MARK: Results

    package func seen(at now: Instant) -> [ProcessSnapshot.Worker] {
        workers.map { worker in
            ProcessSnapshot.Worker(
                snapshot: worker.snapshot, silence: worker.hasEnded ? .zero : now - worker.respondedAt,
                isAlive: worker.hasEnded || worker.openSince.map { now - $0 < Self.timeLimit } ?? true,
                hasEnded: worker.hasEnded)
        }
    }
}
