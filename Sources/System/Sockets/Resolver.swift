package import Core

/// Resolves host names on separate threads: getaddrinfo is the only call that may block.
///
/// All loops of a process share one resolver. It does not cache: Apple requires a DNS query before each connection, and
/// the system's resolver may cache. Each thread does one lookup at a time, so a name with unresponsive servers does not
/// delay the others. A lookup is dropped after its deadline. The threads end when no lookup waits.
package final class Resolver: Sendable {
    /// The maximum of waiting lookups; further ones fail with `EAI_AGAIN`.
    package static let maximumWaiting = 1024
    /// The maximum of concurrent lookups.
    package static let threads = 4
    /// Of each thread, in bytes; enough for glibc's modules.
    package static let stackSize = 1024 * 1024

    private struct State {
        var waiting: [ResolverQuery] = []
        var threads = 0
    }

    let failedAddresses = FailedAddresses()
    private let lookUp: @Sendable (Endpoint) -> AddressLookup.Response
    private let state = Guarded(State())

    /// - Parameter lookUp: Resolves an endpoint; runs on the resolver's threads and may block.
    package init(lookUp: @escaping @Sendable (Endpoint) -> AddressLookup.Response = AddressLookup.system) {
        self.lookUp = lookUp
    }

    /// Answers `query` through its mailbox, unless its deadline passes first.
    func ask(_ query: ResolverQuery) {
        let (isTaken, needsThread) = state.withLock { state in
            guard state.waiting.count < Self.maximumWaiting else { return (false, false) }
            state.waiting.append(query)
            guard state.threads < Self.threads else { return (true, false) }
            state.threads += 1
            return (true, true)
        }
        guard isTaken else {
            let message = "cannot resolve \(query.endpoint.host): \(Self.maximumWaiting) other lookups are waiting"
            return query.respond { _ in .failure(TransportError("EAI_AGAIN", message)) }
        }
        if needsThread { startThread() }
    }

    private func startThread() {
        do throws(EventLoopError) {
            try Thread.start(name: "resolver", stackSize: Self.stackSize) { [self] in
                while let query = next() { query.respond(lookUp) }
            }.detach()
        } catch {
            let failure = TransportError(error.code.rawValue, error.message)
            while let query = next() { query.respond { _ in .failure(failure) } }
        }
    }

    /// The oldest query; `nil` ends the thread.
    private func next() -> ResolverQuery? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.threads -= 1
            return nil
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
