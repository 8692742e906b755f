import AMQP
import Core
import Synchronization
import System
import TestSupport

/// Publishes a load on a separate thread through all broker faults: unconfirmed messages are published again.
final class LoadPublisher: Sendable {
    fileprivate struct Progress {
        /// Messages that were written more than once.
        var repeated: Set<Int> = []
        /// Publishing is paused, and no confirm is outstanding.
        var isAtRest = false
        var failure: String?
    }

    /// The state shared by the thread and its callers.
    fileprivate final class Shared: Sendable {
        let progress = Mutex(Progress())
    }

    private let shared = Shared()
    private let pauses: Mailbox<Bool>
    private let thread: Thread

    /// Starts at once.
    ///
    /// - Parameter message: makes the message with this number, from 0.
    init(_ url: String, count: Int, rate: Int, message: @escaping @Sendable (Int) -> Publication) throws {
        let shared = shared
        let pauses = try Mailbox<Bool>()
        self.pauses = pauses
        thread = try Thread.start(name: "publisher", stackSize: 1 << 20) {
            do {
                let loop = try EventLoop()
                let publishing = try Publishing(
                    url, count: count, rate: rate, message: message, shared: shared, loop: loop)
                try loop.attach(pauses) { [unowned publishing] in publishing.isPaused = $0 }
                try loop.run(owner: publishing)
            } catch {
                shared.progress.withLock { $0.failure = "\(error)" }
            }
        }
    }

    /// Publishes nothing until ``resume()``. When this returns, the broker has confirmed all that was published.
    func pause() throws {
        pauses.post(true)
        try eventually("the last confirm", within: .seconds(30)) {
            shared.progress.withLock { $0.isAtRest ? true : nil }
        }
    }

    func resume() {
        pauses.post(false)
    }

    /// Waits until the broker has confirmed everything. Call exactly once.
    ///
    /// - Returns: the messages written more than once, because a connection ended before their confirm: there may be
    ///   two of each.
    func finish() throws -> Set<Int> {
        _ = thread.join(until: .distantFuture)
        let progress = shared.progress.withLock { $0 }
        if let failure = progress.failure { throw TestSupportError("publishing: \(failure)") }
        return progress.repeated
    }
}

/// The state on the thread.
private final class Publishing: LoopOwner {
    /// The limit of outstanding confirms.
    private static let window = 500
    private static let timeLimit = Duration.seconds(150)

    private let count: Int
    private let message: (Int) -> Publication
    private let shared: LoadPublisher.Shared
    private let loop: EventLoop
    private let network: SocketNetwork
    private let connection: AMQPConnection
    private let deadline: Instant
    private var limiter: RateLimiter
    private var next = 0
    private var confirmed = 0
    /// Unconfirmed messages, by the number of their publish.
    private var unconfirmed: [UInt64: Int] = [:]
    private var again: [Int] = []
    var isPaused = false

    init(
        _ url: String, count: Int, rate: Int, message: @escaping (Int) -> Publication, shared: LoadPublisher.Shared,
        loop: EventLoop
    ) throws {
        self.count = count
        self.message = message
        self.shared = shared
        self.loop = loop
        network = try SocketNetwork(loop: loop, resolver: Resolver())
        let address = try BrokerAddress(url)
        connection = AMQPConnection(
            configuration: AMQPConfiguration(address: address, role: .publisher), addresses: [address],
            network: network, backoff: Backoff(base: .milliseconds(200), limit: .seconds(1)))
        deadline = loop.now.instant + Self.timeLimit
        limiter = RateLimiter(perSecond: rate, burst: max(1, rate / 100), at: loop.now.instant)
        connection.start(at: loop.now.instant)
    }

    private var canPublish: Bool {
        connection.canPublish && !isPaused && unconfirmed.count < Self.window && (next < count || !again.isEmpty)
    }

    var nextDeadline: Instant? {
        var earliest = deadline
        if let retry = connection.nextDeadline { earliest = min(earliest, retry) }
        if canPublish { earliest = min(earliest, limiter.nextPermit(at: loop.now.instant)) }
        return earliest
    }

    func expire(at now: Moment) {
        connection.expire(at: now.instant)
    }

    func endTurn(at now: Moment) {
        while let event = connection.nextEvent(at: now.instant) {
            guard case .engine(.confirmed(let sequence, let confirmation)) = event else { continue }
            guard let index = unconfirmed.removeValue(forKey: sequence) else {
                preconditionFailure("each publish ends once")
            }
            switch confirmation {
            case .acked: confirmed += 1
            case .lost, .nacked: again.append(index)
            case .returned(_, let text): return fail("returned: \(text)")
            }
        }
        do {
            while canPublish, limiter.take(at: now.instant) { try publish() }
        } catch {
            return fail("\(error)")
        }
        let isAtRest = isPaused && unconfirmed.isEmpty && again.isEmpty || confirmed == count
        shared.progress.withLock { $0.isAtRest = isAtRest }
        if confirmed == count {
            loop.stop()
        } else if now.instant >= deadline {
            fail("\(confirmed) of \(count) confirmed in \(Self.timeLimit)")
        }
    }

    private func publish() throws {
        if let index = again.popLast() {
            unconfirmed[try connection.publish(message(index))] = index
            shared.progress.withLock { _ = $0.repeated.insert(index) }
        } else {
            unconfirmed[try connection.publish(message(next))] = next
            next += 1
        }
    }

    private func fail(_ text: String) {
        shared.progress.withLock { $0.failure = text }
        loop.stop()
    }
}
