import AMQP
import Core
import Glibc
import Simulator
import TLS
import TestSupport
import Testing

/// The environment of one test's worker: private queues on a broker, a simulator in this process, a signing key, a
/// folder for configurations.
///
/// APNs responds after a few milliseconds, so that requests are in flight during each fault.
final class Stage {
    static let keyID = "LEDGER1234"
    static let teamID = "TEAM123456"
    /// The prefetch of each queue and worker thread.
    static let prefetch = 300

    let url: String
    let name: String
    let requests: Requests
    let client: BrokerClient
    let simulator: SimulatorServer
    let directory: TemporaryDirectory
    /// Of both types, because they count deliveries differently.
    let quorumQueue: String
    let classicQueue: String
    let resultQueue: String
    let deadLetterQueue: String
    let binary: String
    private let keyFile: String
    /// The authority that the simulator's clients must trust.
    let authorityFile: String

    /// - Parameters:
    ///   - url: the shared broker's if `nil`.
    ///   - script: the simulator's faults.
    init(broker url: String? = nil, script: String = "token *: delay 2ms..20ms") throws {
        guard let url = url ?? TestEnvironment.broker, let binary = TestEnvironment.binary else {
            throw TestSupportError(TestEnvironment.hint)
        }
        self.url = url
        self.binary = binary
        name = "ledger-\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        quorumQueue = "\(name).quorum"
        classicQueue = "\(name).classic"
        resultQueue = "\(name).results"
        deadLetterQueue = "\(name).dead"
        requests = Requests(run: name, replyTo: resultQueue)
        directory = try TemporaryDirectory()
        let key = SigningKey.generate()
        keyFile = try directory.write(key.pkcs8PEM, to: "AuthKey.p8")
        var options = SimulatorOptions()
        options.configuration.keys = [
            ProviderKey(keyID: Self.keyID, teamID: Self.teamID, publicKeyPEM: key.publicKeyPEM)
        ]
        options.script = try Script(script, file: "script", &options.configuration)
        simulator = try SimulatorServer(options)
        authorityFile = try directory.write(simulator.authorityPEM ?? "", to: "ca.pem")
        client = try BrokerClient(url)
        try makeQueues()
    }

    deinit {
        // Only the shared broker lives on.
        if url == TestEnvironment.broker { try? removeQueues() }
        simulator.stop()
    }

    /// Quorum queues as users create them, the others as users may have them.
    func makeQueues() throws {
        let file = try write(Settings(queues: [quorumQueue]), to: "topology.yaml")
        try ChildProcess.run(binary, ["topology", "--config", file, "--apply"])
        try client.declare(
            classicQueue,
            ["x-dead-letter-exchange": .string(""), "x-dead-letter-routing-key": .string(deadLetterQueue)])
        for delay in Self.retryDelays {
            try client.declare(
                "\(classicQueue).retry.\(delay)s",
                [
                    "x-message-ttl": .int32(Int32(delay * 1000)), "x-dead-letter-exchange": .string(""),
                    "x-dead-letter-routing-key": .string(classicQueue),
                ])
        }
        try client.declare(resultQueue, ["x-queue-type": .string("quorum")])
    }

    /// In seconds.
    static let retryDelays = [1, 2]

    func retryQueues(of queue: String) -> [String] {
        Self.retryDelays.map { "\(queue).retry.\($0)s" }
    }

    /// The quorum queues among them.
    var quorumQueues: [String] {
        [quorumQueue, resultQueue, deadLetterQueue]
    }

    private func removeQueues() throws {
        for queue in client.declared.union([quorumQueue, deadLetterQueue] + retryQueues(of: quorumQueue)) {
            try client.ask(.deleteQueue(queue))
        }
    }

    /// Sends a request and waits for an `accepted` result, of this or another request.
    func exchange(_ number: Int) throws {
        try client.publish([requests.message(number, to: quorumQueue)])
        try client.consume([resultQueue]) { try Conservation.Result($0).outcome == "accepted" }
    }

    /// Waits until each of these requests has a result.
    ///
    /// - Parameter worker: for the report.
    func collect(
        _ numbers: Range<Int>, from client: BrokerClient? = nil, within limit: Duration = .seconds(60),
        worker: ChildProcess
    ) throws {
        var missing = Set(numbers)
        do {
            try (client ?? self.client).consume([resultQueue], within: limit) { delivery in
                if let index = requests.index(ofMessageID: delivery.correlationID) { missing.remove(index) }
                return missing.isEmpty
            }
        } catch {
            throw TestSupportError("\(error); missing \(missing.sorted().prefix(5)); \(worker.report)")
        }
    }

    // MARK: Configurations

    /// The settings of a configuration that differ between tests.
    struct Settings {
        var queues: [String]?
        var broker: String?
        var workers = 1
        var drainDeadline = 20
        var prefetch = Stage.prefetch
        var isSingleActive = false
        var decoder = "auto"
        /// A path; the correct one if `nil`.
        var keyFile: String?
        /// The endpoint of APNs; the simulator's if `nil`.
        var apnsPort: UInt16?
        /// YAML for the section `broker`.
        var moreBroker = ""
        /// YAML; off so that workers on one host do not collide on one port.
        var admin = "null"
        /// YAML for more apps.
        var moreApps = ""
        /// YAML at the top level.
        var more = ""
    }

    /// One app in YAML, on the simulator.
    func app(_ topic: String, keyFile: String? = nil, port: UInt16? = nil) -> String {
        """
          - topic: \(topic)
            endpoint: https://127.0.0.1:\(port ?? simulator.port)
            ca_file: \(authorityFile)
            token: { key_file: \(keyFile ?? self.keyFile), key_id: \(Self.keyID), team_id: \(Self.teamID) }

        """
    }

    @discardableResult
    func write(_ settings: Settings = Settings(), to name: String = "harebell.yaml") throws -> String {
        let queues = (settings.queues ?? [quorumQueue, classicQueue]).map {
            "  - { name: \($0), prefetch: \(settings.prefetch), decoder: \(settings.decoder), "
                + "single_active_consumer: \(settings.isSingleActive) }\n"
        }
        let app = app(Requests.topic, keyFile: settings.keyFile, port: settings.apnsPort)
        return try directory.write(
            """
            broker: { endpoints: ["\(settings.broker ?? url)"], \(settings.moreBroker) }
            queues:
            \(queues.joined())dead_letter: { routing_key: \(deadLetterQueue) }
            retry:
              delays_seconds: \(Self.retryDelays)
              throttled_delays_seconds: [1]
              max_attempts: 6
            workers: \(settings.workers)
            drain_deadline_seconds: \(settings.drainDeadline)
            admin: \(settings.admin)
            \(settings.more)
            apps:
            \(app)\(settings.moreApps)
            """, to: name)
    }

    // MARK: Workers

    /// Starts `harebell run` without waiting for it.
    func launch(_ settings: Settings = Settings(), environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(binary, ["run", "--config", try write(settings)], environment: environment)
    }

    /// Starts `harebell run` and waits until it consumes.
    func start(_ settings: Settings = Settings()) throws -> ChildProcess {
        let worker = try launch(settings)
        try worker.waitForLine("ready", within: .seconds(60))
        return worker
    }
}

extension ChildProcess {
    /// Ends a worker in order.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        signal(SIGTERM)
        #expect(try waitForExit(within: .seconds(60)) == .exited(0), "\(report)", sourceLocation: sourceLocation)
    }

    /// The address that the log of `harebell run` has.
    func adminAddress() throws -> Substring {
        let line = try waitForLine(.errors) { $0.contains("the admin server listens") }
        return try #require(line.split(separator: " ").first { $0.hasPrefix("address=") }).dropFirst("address=".count)
    }
}
