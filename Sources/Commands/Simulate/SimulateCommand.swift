import ArgumentParser
import Configuration
import Core
import Simulator
import Logging
import Runtime
import System
import TLS

/// It is flat because each property is one option.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs a simulated APNs that validates as strictly as Apple documents and injects faults on demand.",
        discussion: """
            Prints one line, ready, when it listens. Device tokens with certain prefixes (dead…, bad0…) have fixed \
            outcomes without a script. On SIGTERM or SIGINT it prints its statistics and exits.

            Example: harebell simulate --port 2197 --inbox 127.0.0.1:8025
            """)

    @Option(help: "The port to listen on; 0 takes a free one and prints it.")
    var port: UInt16

    @Option(help: "The numeric address to listen on.")
    var address = "127.0.0.1"

    @Option(
        help: ArgumentHelp("Where to write the certificate authority that clients must trust.", valueName: "file"))
    var caFile: String?

    @Option(help: ArgumentHelp("A server certificate instead of one generated for localhost.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The private key of that certificate.", valueName: "file"))
    var privateKey: String?

    @Option(help: ArgumentHelp("The public key (PEM) that provider tokens must be signed with.", valueName: "file"))
    var publicKey: String?

    @Option(help: "The key ID of that key.")
    var keyId: String?

    @Option(help: "The team ID of that key.")
    var teamId: String?

    @Option(
        help: ArgumentHelp(
            "The authority (PEM) of client certificates, which may then replace provider tokens.",
            valueName: "file"))
    var clientCa: String?

    @Option(help: ArgumentHelp("A fault script, see docs/start/simulator.md.", valueName: "file"))
    var script: String?

    @Option(help: "production or development.")
    var environment = Environment.production

    @Option(
        help: ArgumentHelp(
            "Serve the notifications received as a page and a JSON API, for example at 127.0.0.1:8025.",
            valueName: "address:port"))
    var inbox: String?

    @Option(help: "How many notifications the inbox keeps; the oldest are removed first.")
    var inboxSize = InboxServer.defaultSize

    @Option(help: "What is logged to standard error: requests, refusals or none.")
    var log = RequestLog.requests

    @Flag(help: "Print the statistics as one JSON object.")
    var json = false

    enum RequestLog: String, ExpressibleByArgument {
        case requests, refusals, none

        var level: Logger.Level {
            switch self {
            case .requests: .info
            case .refusals: .warning
            case .none: .critical
            }
        }
    }

    func validate() throws {
        guard (certificate == nil) == (privateKey == nil) else {
            throw ValidationError("--certificate and --private-key go together")
        }
        guard (publicKey == nil) == (keyId == nil), (publicKey == nil) == (teamId == nil) else {
            throw ValidationError("--public-key, --key-id and --team-id go together")
        }
        guard inbox == nil || inboxEndpoint != nil else {
            throw ValidationError("--inbox is a numeric address and a port, such as 127.0.0.1:8025")
        }
        guard (1...1_000_000).contains(inboxSize) else {
            throw ValidationError("--inbox-size is a number from 1 to 1000000")
        }
    }

    private var inboxEndpoint: Endpoint? { inbox.flatMap(Addresses.listener) }

    func run() throws {
        var options = SimulatorOptions()
        options.port = port
        options.address = address
        options.authorityFile = caFile
        options.configuration.environment = environment
        if let certificate, let privateKey {
            options.identity = .pem(
                certificateFile: FilePath(certificate), privateKeyFile: FilePath(privateKey))
        }
        if let publicKey, let keyID = keyId, let teamID = teamId {
            options.configuration.keys = [
                ProviderKey(keyID: keyID, teamID: teamID, publicKeyPEM: try TextFile.read(publicKey))
            ]
        }
        if let clientCa { options.configuration.clientAuthorityPEM = try TextFile.read(clientCa) }
        if let script { options.script = try Script(TextFile.read(script), file: script, &options.configuration) }
        try serve(options)
    }

    /// Ends the command if another process listens on the address.
    private func listening<Server>(_ option: String, _ start: () throws -> Server) throws -> Server {
        do {
            return try start()
        } catch let error as EventLoopError {
            try quit("\(option): \(error): choose another port", Status.unavailable)
        }
    }

    private func serve(_ options: SimulatorOptions) throws {
        let runner = try LoopRunner()
        let service = try listening("--port") {
            try SimulatorService(options, loop: runner.loop) { [network = runner.network] socket, engine in
                network.adopt(socket, engine)
            }
        }
        if port == 0 { printLine("port \(service.port)") }
        let server = try inboxEndpoint.map { listen in
            try listening("--inbox") {
                let anyHost = !Addresses.isLoopback(listen.host)
                return try InboxServer(loop: runner.loop, listen: listen, size: inboxSize, anyHost: anyHost)
            }
        }
        if let endpoint = server?.endpoint { printLine("inbox http://\(endpoint)/") }
        let logger = Logger(label: "simulator") { [level = log.level] label in
            LineLogHandler(
                label: label, threshold: LogThreshold(level), format: .text, clock: { SystemClock.now().wall })
        }
        let simulation = Simulation(service, log: logger, inbox: server)
        service.context.observer = simulation
        printLine("ready")
        try runner.run(simulation)
        printAnswer(service.context.ledger.statistics.members, asJSON: json)
    }
}

/// Runs until it is stopped. Logs the simulator's responses and stores them in the inbox.
private final class Simulation: Run, SimulatorObserver {
    private let service: SimulatorService
    private let log: Logger
    private let inbox: InboxServer?
    private(set) var isFinished = false

    init(_ service: SimulatorService, log: Logger, inbox: InboxServer?) {
        self.service = service
        self.log = log
        self.inbox = inbox
    }

    func ended(_ record: SimulatorLedger.Record, at time: WallTime) {
        if let inbox, let entry = InboxEntry(record, at: time) { inbox.add(entry) }
        log.log(record)
    }

    func failed(connection: Int, _ error: any Error) {
        log.error("connection failed: \(error)", metadata: ["connection": .stringConvertible(connection)])
    }

    var nextDeadline: Instant? { inbox?.nextDeadline }

    func step(at now: Moment) {
        service.context.synchronize(at: now)
        inbox?.step(at: now)
    }

    func stop(at now: Moment) {
        isFinished = true
    }
}
