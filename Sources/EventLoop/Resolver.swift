package import Core

/// Finds the addresses of host names on a thread of its own: getaddrinfo is the only call that may block.
///
/// All loops of a process share one resolver. Nothing is cached: Apple asks for a DNS query before each connection, and
/// the system's resolver may cache as it is configured to. Look-ups are done one after the other, so a slow one delays
/// those behind it; each is dropped once its deadline has passed.
package final class Resolver: Sendable {
    /// The most look-ups that wait at a time; more fail with `EAI_AGAIN`.
    package static let maximumWaiting = 1024
    /// In bytes; enough for glibc's modules.
    package static let stackSize = 1024 * 1024

    /// What the connects of this process have learnt about addresses.
    let failedAddresses = FailedAddresses()
    private let queue: ResolverQueue

    /// - Parameter lookUp: What answers; it runs on the resolver's thread and may block.
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
        try Thread.start(name: "resolver", stackSize: Self.stackSize) {
            while let query = queue.next() { query.reply(lookUp) }
        }.detach()
    }

    /// The thread ends by itself, after the look-up that it is busy with.
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

/// The queries between the loops and the resolver's thread.
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
            let (query, isClosed) = state.withLock { state -> (ResolverQuery?, Bool) in
                if state.isClosed { return (nil, true) }
                return (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), false)
            }
            if isClosed { return nil }
            if let query { return query }
            wakeUp.lower()
        }
    }
}
