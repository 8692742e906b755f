package import Core

/// Resolves host names on separate threads: getaddrinfo is the only call that may block.
///
/// All loops of a process share one resolver. It does not cache: Apple requires a DNS query before each connection, and
/// the system's resolver may cache. Each thread does one lookup at a time, so a name with unresponsive servers does not
/// delay the others. A lookup is dropped after its deadline.
package final class Resolver: Sendable {
    /// The maximum of waiting lookups; further ones fail with `EAI_AGAIN`.
    package static let maximumWaiting = 1024
    /// The maximum of concurrent lookups.
    package static let threads = 4
    /// Of each thread, in bytes; enough for glibc's modules.
    package static let stackSize = 1024 * 1024

    let failedAddresses = FailedAddresses()
    private let queue: ResolverQueue

    /// - Parameter lookUp: Resolves an endpoint; runs on the resolver's threads and may block.
    package init(
        lookUp: @escaping @Sendable (Endpoint) -> AddressLookup.Response = AddressLookup.system
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
                while let query = queue.next() { query.respond(lookUp) }
            }.detach()
        }
    }

    /// The threads end after their current lookups.
    deinit {
        queue.close()
    }

    /// Answers `query` through its mailbox, unless its deadline passes first.
    func ask(_ query: ResolverQuery) {
        guard queue.append(query) else {
            query.respond { .failure(.resolverFull($0, waiting: Self.maximumWaiting)) }
            return
        }
    }
}

/// One lookup and the destination of its response.
struct ResolverQuery: Sendable {
    /// The number that the network uses for it.
    let number: UInt64
    let endpoint: Endpoint
    /// The response is not needed after this.
    let deadline: Instant
    let mailbox: Mailbox<ResolverResponse>

    func respond(_ lookUp: (Endpoint) -> AddressLookup.Response) {
        guard SystemClock.instant() < deadline else { return }
        // If the mailbox is full, the deadline ends the wait.
        mailbox.post(ResolverResponse(number: number, result: lookUp(endpoint)))
    }
}

struct ResolverResponse: Sendable {
    let number: UInt64
    let result: AddressLookup.Response
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

    /// - Returns: `false` if the queue is full.
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

    /// Waits for the next query; `nil` after the queue was closed.
    func next() -> ResolverQuery? {
        while true {
            let (query, isClosed, hasMore) = state.withLock { state -> (ResolverQuery?, Bool, Bool) in
                if state.isClosed { return (nil, true, true) }
                let query = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                return (query, false, !state.waiting.isEmpty)
            }
            // Several increments wake only one thread, which then wakes the next.
            if hasMore { wakeUp.raise() }
            if isClosed { return nil }
            if let query { return query }
            wakeUp.lower()
        }
    }
}
