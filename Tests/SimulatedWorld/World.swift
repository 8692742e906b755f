package import AMQP
package import Configuration
package import Core
import Logging
package import Commands
package import Pipeline
package import Runtime
package import Simulator
import System
import TLS
package import TestSupport

/// An in-memory broker, a whole worker and an APNs, on virtual time.
package final class World {
    package static let broker = Endpoint(host: "broker", port: 5672)
    package static let apns = Endpoint(host: "apns.test", port: 443)
    package static let start = Moment(
        instant: Instant(nanoseconds: 1_000_000_000), wall: WallTime(milliseconds: 1_790_000_000_000))

    package let broker = Broker()
    package let network: MemoryNetwork
    /// The workers' current configuration.
    package let programs: MemoryPrograms
    package private(set) var configuration: Configuration
    /// The configuration before any reload.
    package let original: Configuration
    /// The workers' files; `nil` before there is a worker.
    private var plan: AppPlan?
    /// The requests of all of this world's APNs servers.
    package let ledger = RecordedLedger()
    /// The channels that they all share.
    package let channels = ChannelRegistry(limit: ChannelOperation.maximumChannels)
    package private(set) var apns: SimulatorContext
    /// The connections with ``apns``.
    package private(set) var apnsConnections = SimulatedConnections()
    package private(set) var scriptSetAt = Instant.distantFuture
    /// The running workers, the oldest first.
    package private(set) var running: [RunningWorker] = []
    /// The network of each worker ever started, the first one first.
    package private(set) var outlooks: [WorkerNetwork] = []
    package private(set) var reloads = 0
    /// How far the workers' wall clock is ahead of APNs's.
    package var clockError = Duration.zero
    /// Whether workers start with a small prefetch, as in processes.
    package var startsSlowly = false
    package private(set) var events: [WorkerReport.Event] = []
    /// What the control thread has of the workers' traces.
    package private(set) var traced = Tracer.Batch()
    /// Refuse connections.
    package var isBrokerDown = false
    package var isAPNsDown = false
    /// Other parts on this network's time.
    package var guests: [any Run] = []
    /// Called after each worker turn.
    package var check: () -> Void = {}
    private let folder: TemporaryDirectory
    private let seed: UInt64
    private let lines = LogLines()
    private var logger = Logger(label: "world") { _ in SwiftLogNoOpLogHandler() }

    package init(
        seed: UInt64 = 1, script: String = "", declares: [String] = World.queues, hasRetryQueues: Bool = true,
        configure: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.seed = seed
        folder = try TemporaryDirectory()
        try folder.write(Credentials.authority.certificatePEM, to: "authority.pem")
        try folder.write(Credentials.signingKeyPEM, to: "AuthKey.p8")
        try folder.write(Credentials.otherKeyPEM, to: "OtherKey.p8")
        original = try Self.configuration(in: folder.path, configure)
        configuration = original
        network = MemoryNetwork(seed: seed, start: Self.start) { _ in nil }
        network.label = "(seed \(seed))"
        programs = MemoryPrograms(network)
        apns = try Self.apns(script, seed: seed, ledger, channels, at: network.moment)
        for queue in declares { broker.declare(queue) }
        if hasRetryQueues { declareRetryQueues() }
        network.accept = { [unowned self] endpoint in accept(endpoint) }
    }

    /// A world with one running worker, which records its ``log``.
    ///
    /// - Parameters:
    ///   - prefetch, hold: of the queue, and the hold time; `nil` for the usual ones.
    ///   - before: called before the worker starts.
    package static func started(
        script: String = "", declares: [String] = World.queues, hasRetryQueues: Bool = true,
        prefetch: UInt16? = nil, hold: Duration? = nil, configure: (inout Configuration) -> Void = { _ in },
        before: (World) -> Void = { _ in }
    ) throws -> World {
        let world = try World(script: script, declares: declares, hasRetryQueues: hasRetryQueues) {
            if let prefetch { $0.queues[0].prefetch = prefetch }
            if let hold { $0.hold = hold }
            configure(&$0)
        }
        world.logger = Logger(label: "test") { [lines = world.lines] _ in lines }
        before(world)
        try world.start()
        return world
    }

    /// The retry queues as `harebell topology` makes them.
    package func declareRetryQueues() {
        for case .declareQueue(let queue) in TopologyPlan(original).steps.map(\.declaration)
        where queue.name.contains(Self.retries) {
            broker.declare(queue.name, arguments: queue.arguments)
        }
    }

    package func deleteRetryQueues() {
        for name in broker.queues.keys where name.contains(Self.retries) { broker.delete(name) }
    }

    private static let retries = ".retry."

    /// The copies that have entered retry queues since ``countParked()``.
    package private(set) var parkedCopies = 0

    /// The messages in the retry queues.
    package var parked: [Broker.Message] {
        broker.queues.keys.sorted().filter { $0.contains(Self.retries) }.flatMap { broker.messages(in: $0) }
    }

    /// Counts the copies that enter retry queues from now on.
    package func countParked() {
        broker.observe = { [unowned self] in
            if case .enqueued(_, let queue) = $0, queue.contains(Self.retries) { parkedCopies += 1 }
        }
    }

    package static let queues = ["push.requests", "push.results", "push.feedback", "push.dead", "replies"]

    /// - Parameter folder: holds the configured files; they are read when a worker starts.
    package static func configuration(
        in folder: String = "/nowhere", _ edit: (inout Configuration) -> Void = { _ in }
    ) throws -> Configuration {
        func app(_ topic: String) -> String {
            """
              - topic: \(topic)
                endpoint: https://\(World.apns)
                ca_file: authority.pem
                token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }

            """
        }
        let text = """
            broker: { endpoints: ["amqp://guest:guest@\(World.broker)/%2f"], max_message_bytes: 16384 }
            queues: [{ name: push.requests, prefetch: 10 }]
            results: { routing_key: push.results }
            feedback: { routing_key: push.feedback }
            apps:
            \(app("com.example.app"))\(app("com.example.other"))
            """
        var configuration = try ConfigurationDocument(
            content: Array(text.utf8), file: "\(folder)/harebell.yaml",
            environment: { _ in nil },
            readFile: { _ in throw Complaint("no secrets here") }
        ).configuration
        // Long enough never to end a pause; other tests cover the hold time.
        configuration.hold = .seconds(86_400)
        edit(&configuration)
        return configuration
    }

    private static func apns(
        _ script: String, seed: UInt64, _ ledger: RecordedLedger, _ channels: ChannelRegistry, at now: Moment
    ) throws -> SimulatorContext {
        var configuration = SimulatorConfiguration()
        configuration.seed = seed
        let script = try Script(script, file: "script", &configuration)
        let context = try SimulatorContext(
            configuration, script: script, identity: Credentials.server, ledger: ledger.counts, channels: channels,
            now: now)
        context.observer = ledger
        return context
    }

    private func accept(_ endpoint: Endpoint) -> (any Engine)? {
        switch endpoint {
        case Self.broker: return isBrokerDown ? nil : BrokerEngine(broker: broker)
        case Self.apns where !isAPNsDown:
            do {
                let engine = try apns.makeEngine()
                apnsConnections.add(engine)
                return engine
            } catch {
                preconditionFailure("an engine needs only memory: \(error)")
            }
        default: return programs.accept(endpoint)
        }
    }

    // MARK: Results

    /// A result or a dead letter.
    package struct Published {
        package let messageID: String?
        package let headers: [String: String]
        package let body: String

        package var outcome: String? { headers["harebell-outcome"] }

        package init(_ message: Broker.Message) {
            let properties = message.decodedProperties
            messageID = properties?.messageID.map { String(decoding: $0, as: UTF8.self) }
            body = String(decoding: message.body, as: UTF8.self)
            var headers: [String: String] = [:]
            for entry in properties?.headers?.entries ?? [] {
                guard case .text(let text) = entry.value else { continue }
                headers[String(decoding: entry.name, as: UTF8.self)] = String(decoding: text, as: UTF8.self)
            }
            self.headers = headers
        }
    }

    package func published(in queue: String) -> [Published] {
        broker.messages(in: queue).map { Published($0) }
    }

    /// The number of notifications that APNs handled, with any outcome.
    package var sent: Int { ledger.statistics.requests }

    package var openToAPNs: Int { network.links.count { $0.endpoint == Self.apns } }

    // MARK: Test actions

    /// The number of workers ever started.
    package var workers: Int { outlooks.count }

    /// Both clocks of the workers.
    package var moment: Moment {
        var moment = network.moment
        moment.wall.milliseconds += clockError.nanoseconds / 1_000_000
        return moment
    }

    /// The worker of a world that has only one.
    package var worker: RunningWorker? { running.first }

    /// Starts one more process with one worker.
    package func start() throws {
        let reachability = WorkerNetwork(network)
        outlooks.append(reachability)
        let plan = try AppPlan(configuration, after: plan)
        self.plan = plan
        let resources = Worker.Resources(
            brokerNetwork: reachability, apnsNetwork: reachability, programs: programs, log: logger,
            seed: seed &+ UInt64(workers))
        let worker = try Worker(
            index: workers - 1, plan: plan, contexts: try plan.makeContexts(), on: resources,
            startsSlowly: startsSlowly, at: moment)
        running.append(RunningWorker(worker))
        settle()
    }

    /// Reloads the configuration, as every process does on SIGHUP.
    package func reload(_ edit: (inout Configuration) throws -> Void = { _ in }) throws {
        var new = configuration
        try edit(&new)
        let next = try AppPlan(Reload(new, after: configuration).configuration, after: plan)
        for worker in running {
            worker.worker.reload(next, contexts: try next.makeContexts(after: plan), at: moment)
        }
        reloads += 1
        configuration = next.configuration
        plan = next
        settle()
    }

    /// A second signing key beside the configuration's first.
    package var otherKey: Configuration.Credential {
        .token(keyFile: FilePath(folder.file("OtherKey.p8")), keyID: "NEWKEY1234", teamID: "DEF123GHIJ")
    }

    /// Kills all processes: nothing is finished, and their connections are gone.
    package func kill() {
        running = []
        cut(Self.broker)
        cut(Self.apns)
    }

    /// Releases the confirms that the broker holds.
    package func releaseConfirms() {
        for engine in broker.engines { engine.releaseConfirms() }
    }

    /// Lets the only worker drain.
    ///
    /// - Returns: the worker, which has ended within the limit.
    @discardableResult
    package func drain(by deadline: Duration = .seconds(30), within limit: Duration) throws -> RunningWorker {
        guard let worker else { throw TestSupportError("there is no worker") }
        worker.startDrain(deadline: network.now + deadline)
        guard pass(atMost: limit, until: { worker.hasEnded }) else { throw TestSupportError("it does not end") }
        return worker
    }

    package func attempts(during action: () throws -> Void) rethrows -> Int {
        let before = network.attempts
        try action()
        return network.attempts - before
    }

    package func cut(_ endpoint: Endpoint) {
        network.cutAll(to: endpoint)
        settle()
    }

    /// Cuts the worker's consuming connection, or the publishing one.
    package func cut(consuming: Bool) {
        for link in network.links {
            guard let engine = link.server as? BrokerEngine, engine.isConsuming == consuming else { continue }
            network.cut(link)
        }
        settle()
    }

    /// New connections to APNs get another script; open ones keep the old one.
    package func setScript(_ script: String) throws {
        scriptSetAt = network.now
        apns = try Self.apns(script, seed: seed &+ 1, ledger, channels, at: network.moment)
        apnsConnections = SimulatedConnections()
    }

    /// What the workers have logged; nothing if the world was not made by `started`.
    package var log: [LogLines.Line] { lines.all }

    package func settle() {
        network.settle(turn)
    }

    package func pass(_ duration: Duration) {
        network.advance(by: duration, deadline: { self.nextDeadline }, turn: turn)
    }

    package func pass(atMost limit: Duration, until condition: () -> Bool) -> Bool {
        let end = network.now + limit
        settle()
        while !condition() {
            guard let next = [network.nextDeadline, nextDeadline].compactMap(\.self).min(), next <= end else {
                return false
            }
            pass(max(next - network.now, .zero))
        }
        return true
    }

    /// Whether the broker and the worker have finished all requests.
    package var isQuiet: Bool {
        broker.messages(in: "push.requests").isEmpty && parked.isEmpty && broker.unsettledCount == 0
            && running.allSatisfy { $0.counters.unsettled == 0 }
    }

    private var nextDeadline: Instant? {
        (running.map { $0.hasEnded ? nil : $0.nextDeadline } + guests.map(\.nextDeadline)).compactMap(\.self)
            .min()
    }

    /// - Parameter isLast: takes those as well that wait for others.
    package func takeSpans(of worker: RunningWorker, isLast: Bool = false) {
        guard let batch = worker.tracer?.takeBatch(isLast: isLast, at: network.now) else { return }
        worker.tracer?.batchReceived()
        traced.spans += batch.spans
        traced.dropped += batch.dropped
    }

    private func turn() -> Bool {
        for worker in running where !worker.hasEnded {
            if let deadline = worker.nextDeadline, deadline <= network.now {
                worker.expire(at: moment)
            } else {
                worker.step(at: moment)
            }
            while let event = worker.nextEvent() { events.append(event) }
            takeSpans(of: worker)
            check()
        }
        for guest in guests { guest.step(at: moment) }
        let hasEnded = programs.endStopped()
        return hasEnded || nextDeadline.map { $0 <= network.now } ?? false
    }
}

extension Broker.Message {
    package func header(_ name: String) -> FieldValue? { decodedProperties?.headers?[name] }
}

/// A server's certificate, and what its clients need to trust it.
private enum Credentials {
    // Certificates are checked against the real clock, wherever they are used.
    static let authority = CertificateAuthority(commonName: "A test authority", now: SystemClock.now().wall)
    static let server: TLSContext.Identity = {
        let identity = authority.issue(names: [World.apns.host], usage: .server)
        return .pemText(certificates: identity.certificatePEM, privateKey: identity.privateKeyPEM)
    }()
    static let signingKeyPEM = SigningKey.generate().pkcs8PEM
    static let otherKeyPEM = SigningKey.generate().pkcs8PEM
}
