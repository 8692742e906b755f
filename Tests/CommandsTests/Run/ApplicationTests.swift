import APNs
import Core
import Glibc
import Logging
import Monitoring
import SimulatedWorld
import System
import TLS
import TestSupport
import Testing

@testable import Admin
@testable import Commands
@testable import Configuration
@testable import Pipeline
@testable import Runtime

@Suite("Application")
struct ApplicationTests {
    private static func application(
        _ plan: AppPlan, file: String = "harebell.yaml", manager: ServiceManager? = nil, log: LogLines = LogLines()
    ) throws -> Application {
        try Application(
            plan, file: file, log: Logger(label: "test") { _ in log }, threshold: LogThreshold(.info), manager: manager
        ) {}
    }

    /// Runs the control thread to its end, with replacement workers.
    private func end(workers: Int, _ worker: @escaping WorkerThread.Body) throws -> Application.End {
        let world = try World()
        var configuration = world.configuration
        configuration.workers = workers
        configuration.drainDeadline = .zero
        configuration.admin = nil
        let plan = try AppPlan(configuration)
        let ended = Guarded<Result<Application.End, any Error>?>(nil)
        // Runs on a separate thread with blocked signals.
        _ = try Thread.start(name: "application") {
            let result = Result { try Self.application(plan).run(worker: worker) }
            ended.withLock { $0 = result }
        }.join(until: .distantFuture)
        return try #require(ended.withLock { $0 }).get()
    }

    /// A worker that cannot start.
    @Sendable private static func fail(_ task: WorkerThread.Task, _ failure: WorkerReport.Failure) {
        let events: [WorkerReport.Event] = [
            .failed(failure, message: "as a test wants it"), .ended(PipelineCounters(queues: 1), inOrder: false),
        ]
        for event in events { task.reports.post(WorkerReport(worker: task.index, event: event)) }
    }

    @Test(
        "The failure that keeps a worker from starting is the outcome of the process",
        arguments: [WorkerReport.Failure.configuration, .unavailable, .internal])
    func failure(_ failure: WorkerReport.Failure) throws {
        #expect(try end(workers: 1) { Self.fail($0, failure) } == .failed(failure))
    }

    @Test("A worker that never ends is given up after its deadlines, and the process still ends, not as drained")
    func stuckWorker() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let (blocking, writing) = (ends[0], ends[1])
        let start = ContinuousClock.now
        let end = try end(workers: 2) { task in
            if task.index == 0 {
                Self.fail(task, .unavailable)
            } else {
                var byte: UInt8 = 0
                _ = unsafe read(blocking, &byte, 1)
            }
        }
        #expect(end == .failed(.unavailable))
        let elapsed = ContinuousClock.now - start
        #expect(elapsed >= Worker.closeTimeout + Application.endTimeout)
        #expect(elapsed < Worker.closeTimeout + Application.endTimeout + .seconds(20))
        // One that hangs after its last report.
        let hanging = try self.end(workers: 1) { task in
            task.reports.post(WorkerReport(worker: 0, event: .ended(PipelineCounters(queues: 1), inOrder: true)))
            var byte: UInt8 = 0
            _ = unsafe read(blocking, &byte, 1)
        }
        close(writing)
        #expect(hanging == .cutShort)
    }

    @Test("After a worker has failed, the first signal changes nothing and the second one stops the others")
    func signalAfterFailure() throws {
        let world = try World()
        let lines = LogLines()
        let manager = ServiceManager { ["NOTIFY_SOCKET": "/nowhere/notify"][$0] }
        let application = try Self.application(AppPlan(world.configuration), manager: manager, log: lines)
        application.workerReported(WorkerReport(worker: 0, event: .failed(.internal, message: "as a test wants it")))
        #expect(lines.all.first?.number("worker") == 0)
        application.service.notify(.stopping)
        #expect(lines.all.count { $0.message.contains("cannot notify the service manager of STOPPING") } == 1)
        let drained = try #require(application.shutdown.deadline)
        application.signalled(SIGHUP)
        #expect(lines.all.last?.message == "draining: the configuration is not reloaded")
        application.signalled(SIGTERM)
        #expect(application.shutdown.deadline == drained)
        application.signalled(SIGTERM)
        let stopped = try #require(application.shutdown.deadline)
        #expect(stopped < drained && stopped > application.loop.now.instant)
    }

    @Test(
        "A failed reload is repeated until the file that it lacks is there, and each SIGHUP says what, once",
        arguments: ["AuthKey.p8", "admin-token"])
    func missingFile(name: String) throws {
        let folder = try TemporaryDirectory()
        let text = """
            broker: { endpoints: ["amqp://harebell@broker/%2f"], password_file: password }
            admin: { token_file: admin-token }
            apps:
              - topic: com.example.app
                environment: production
                token: { key_file: AuthKey.p8, key_id: ABC123DEFG, team_id: DEF123GHIJ }
              - { topic: com.example.past, certificate: { certificate_file: past, private_key_file: past } }

            """
        let contents = ["AuthKey.p8": SigningKey.generate().pkcs8PEM, "admin-token": "as-long-as-a-token-has-to-be"]
        for (name, content) in contents { try folder.write(content, to: name) }
        // It has expired, which prevents no reload while it is in use.
        let past = CertificateAuthority(commonName: "Past", now: WallTime(milliseconds: 1_000_000_000_000))
            .issueProvider(bundleID: "com.example.past")
        try folder.write(past.certificatePEM + past.privateKeyPEM, to: "past")
        try folder.write("old", to: "password")
        let file = try folder.write(text, to: "harebell.yaml")
        let lines = LogLines()
        let application = try Self.application(
            AppPlan(ConfigurationDocument.load(path: file).configuration), file: file, log: lines)
        // A reload makes contexts for workers that have started.
        try application.workers.start(application.plan, Resolver(), application.log) { _ in }
        defer { #expect(application.workers.join(until: .distantPast).count == application.workers.commands.count) }
        var now = application.loop.now
        func look() {
            now.instant = now.instant + .seconds(10)
            application.checkFiles(at: now)
        }
        for (round, missing) in ["second", "third"].enumerated() {
            try folder.write(text.replacing(name, with: missing), to: "harebell.yaml")
            for _ in 0..<2 { application.reload(at: now) }
            look()
            look()
            #expect(application.file.failure.map { $0.contains(missing) && !$0.contains(" more)") } == true)
            #expect(lines.all.count { $0.level == .error } == 2 * (round + 1))
            try folder.write(try #require(contents[name]), to: missing)
            look()
            #expect(application.file.failure == nil)
            for _ in 0..<2 { look() }
            #expect(lines.all.count { $0.message == "reloaded" } == round + 1)
            let files = application.plan.configuration.files(file)
            #expect(files.contains { $0.hasSuffix(missing) } == (name == "AuthKey.p8"))
        }
        // A file that may not be complete yet is not read, although a reload has failed.
        try folder.write("apps: [", to: "harebell.yaml")
        try folder.write("new", to: "password")
        application.reload(at: now)
        #expect(lines.all.count { $0.message.hasPrefix("the broker's password has changed") } == 1)
        application.file.problems = ["one", "another"]
        try folder.write(text + "workers: 2\nlog: { level: error }\n", to: "harebell.yaml")
        look()
        #expect(application.file.failure == "one (and 1 more)")
        look()
        #expect(application.file.failure == nil && lines.all.contains { $0.message.hasPrefix("a file has changed") })
        let kept = lines.all.last { $0.message.hasPrefix("a change requires a restart") }
        #expect(kept?.metadata["key"]?.description == "workers" && application.threshold.level == .error)
    }

    @Test("The watchdog is notified twice in its interval while every worker responds, and not while one is stuck")
    func signsOfLife() throws {
        let world = try World()
        try world.start()
        let snapshot = try #require(world.worker).snapshot(at: world.moment)
        let socket = try NotifySocket()
        let environment = ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "30000000"]
        let application = try Self.application(
            AppPlan(world.configuration), manager: ServiceManager { environment[$0] })
        let start = try #require(application.service.nextKeepAlive)
        func livez(_ seconds: Int64) -> UInt32? {
            let now = Moment(instant: start + .seconds(seconds), wall: application.loop.now.wall)
            let page = AdminPage("/livez", isPublic: true)
            let request = AdminRequest(page: page, query: [], receivedAt: now.instant, isRepeated: false)
            return application.respond(request, at: now)?.status
        }
        application.sendKeepAlive(at: start)
        application.sendKeepAlive(at: start + .seconds(14))
        #expect(socket.messages() == ["WATCHDOG=1"])
        application.sendKeepAlive(at: start + .seconds(15))
        #expect(socket.messages().count == 2)
        // Asked after 16 s, and unanswered for longer than a worker may take.
        #expect(application.workers.watch.round(at: start + .seconds(16)) == [0])
        application.sendKeepAlive(at: start + .seconds(30))
        #expect(socket.messages().count == 2 && livez(20) == 200 && livez(30) == 503)
        let first = AdminRequest(page: AdminPage("/readyz"), query: [], receivedAt: start, isRepeated: false)
        #expect(application.respond(first, at: application.loop.now) == nil)
        #expect(application.workers.watch.isComplete(at: application.loop.now.instant + .seconds(1)) == true)
        application.workers.watch.responded(0, snapshot, at: start + .seconds(44))
        application.sendKeepAlive(at: start + .seconds(45))
        #expect(socket.messages() == ["WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"] && livez(45) == 200)
        let tokens = application.plan.tokens.source(for: world.configuration.apps[0].credential)
        let signed = try #require(tokens?.token(at: application.loop.now).issuedAt)
        let later = Moment(instant: start + .seconds(45), wall: WallTime(milliseconds: signed.milliseconds + 90_000))
        let again = AdminRequest(page: AdminPage("/state"), query: [], receivedAt: start, isRepeated: true)
        let state = String(decoding: application.respond(again, at: later)?.body ?? [], as: UTF8.self)
        #expect(state.contains("\"provider_token_age_seconds\":90"), "\(state)")
    }
}
