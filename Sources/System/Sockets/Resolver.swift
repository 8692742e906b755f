package import Core

/// Finds the addresses of host names on threads of its own: getaddrinfo is the only call that may block.
///
/// All loops of a process share one resolver. Nothing is cached: Apple asks for a DNS query before each connection, and
/// the system's resolver may cache as it is configured to. As many look-ups as there are threads are done at a time, so
/// that a name whose servers are silent does not delay the others'; each is dropped once its deadline has passed.
package final class Resolver: Sendable {
    /// The most look-ups that wait at a time; more fail with `EAI_AGAIN`.
    package static let maximumWaiting = 1024
    /// The most look-ups at a time.
    package static let threads = 4
    /// Of each thread, in bytes; enough for glibc's modules.
    package static let stackSize = 1024 * 1024

    /// What the connects of this process have learnt about addresses.
    let failedAddresses = FailedAddresses()
    private let queue: ResolverQueue

    /// - Parameter lookUp: What answers; it runs on the resolver's threads and may block.
    package init(
        lookUp: @escaping @Sendable (Endpoint) -> AddressLookup.Answer = AddressLookup.system
    ) throws(EventLoopError) {
        let queue: ResolverQueue
        do {
            queue = try ResolverQueue()
        } catch {
            throw EventLoopError("cannot create a resolver", error)
        }
        self.queue = queue
        for _ in 0..<Self.threads {
            try Thread.start(name: "resolver", stackSize: Self.stackSize) {
                while let query = queue.next() { query.reply(lookUp) }
            }.detach()
        }
    }

    /// The threads end by themselves, after the look-ups that they are busy with.
    deinit {
        queue.close()
    }

    /// Has `query` answered through its mailbox, unless its deadline passes first.
    func ask(_ query: ResolverQuery) {
        guard queue.append(query) else {
            query.reply { .failure(.resolverFull($0, waiting: Self.maximumWaiting)) }
            return
        }
    }
}

/// One look-up, and where its answer goes.
struct ResolverQuery: Sendable {
    /// The asking network's number for it.
    let number: UInt64
    let endpoint: Endpoint
    /// Nobody waits for the answer any more after this.
    let deadline: Instant
    let mailbox: Mailbox<ResolverReply>

    func reply(_ lookUp: (Endpoint) -> AddressLookup.Answer) {
        guard SystemClock.instant() < deadline else { return }
        // Should the mailbox be full, the deadline ends the wait.
        mailbox.post(ResolverReply(number: number, answer: lookUp(endpoint)))
    }
}

struct ResolverReply: Sendable {
    let number: UInt64
    let answer: AddressLookup.Answer
}

/// The queries between the loops and the resolver's threads.
private final class ResolverQueue: Sendable {
    private struct State {
        var waiting: [ResolverQuery] = []
        var isClosed = false
    }

    private let state = Guarded(State())
    private let wakeUp: EventDescriptor

    init() throws(SystemError) {
        wakeUp = try EventDescriptor(.byThread)
    }

    /// - Returns: `false` when the queue is full.
    func append(_ query: ResolverQuery) -> Bool {
        let isTaken = state.withLock { state in
            guard state.waiting.count < Resolver.maximumWaiting else { return false }
            state.waiting.append(query)
            return true
        }
        if isTaken { wakeUp.raise() }
        return isTaken
    }

    func close() {
        state.withLock { $0.isClosed = true }
        wakeUp.raise()
    }

    /// Waits for the next query; `nil` once the queue is closed.
    func next() -> ResolverQuery? {
        while true {
            let (query, isClosed, hasMore) = state.withLock { state -> (ResolverQuery?, Bool, Bool) in
                if state.isClosed { return (nil, true, true) }
                let query = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                return (query, false, !state.waiting.isEmpty)
            }
            // What was raised more than once wakes one thread: it passes that on.
            if hasMore { wakeUp.raise() }
            if isClosed { return nil }
            if let query { return query }
            wakeUp.lower()
        }
    }
}
