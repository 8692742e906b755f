import AMQP
import APNs
import Configuration
import Core
import Logging
import Pipeline
import Runtime
import SimulatedWorld
import Simulator
import TestSupport

/// A request from end to end: through intake, dispatch and outbox alone, and through a worker with connections to the
/// broker and to APNs.
enum WorkerBenchmarks {
    static let all = [
        pipeline("pipeline, apns-json", Samples.all[2]), pipeline("pipeline, apns-headers", Samples.all[3]),
        pipeline("pipeline, 10,000 parked devices", Samples.all[2], parkedDevices: 10_000),
        worker("worker, apns-json", Samples.all[2]), worker("worker, apns-headers", Samples.all[3]),
        worker("worker, 100 queues", Samples.all[2], Load(queues: 100)),
        worker("worker, 1,000 apps of a key", Samples.all[2], Load(apps: 1000)),
        worker("worker, 999 idle apps", Samples.all[2], Load(idleApps: 999)),
        worker("worker, 1,000 reply queues", Samples.all[2], Load(replyQueues: 1000)),
        worker("worker, prefetch 20,000", Samples.all[2], Load(prefetch: 20_000)),
        worker("worker, one at a time", Samples.all[2], Load(batch: 1)),
        worker("worker, traced", Samples.all[2]) {
            $0.tracing = Configuration.Tracing(
                endpoint: Endpoint(host: "collector", port: 4318), usesTLS: false, sampleRatio: 1)
        },
        worker("worker, fan-out, a device", Samples.all[2], Load(batch: 1, devices: 256)),
        worker("worker, fan-out, one of 16 devices", Samples.all[2], Load(batch: 1, devices: 16)),
        worker("worker, fan-out, one result", Samples.all[2], Load(batch: 1, devices: 256)) {
            $0.results.per = .request
        },
        start("start, one of 256 apps", apps: 256),
    ]

    /// What arrives at a worker.
    struct Load: Sendable {
        /// Requests that arrive together. A single one causes whole turns of the worker, as at a low rate.
        var batch = EngineBenchmarks.batch
        /// Notifications of a request; an operation is one notification.
        var devices = 1
        /// Queues that take turns.
        var queues = 1
        var prefetch = 256
        /// Apps of one key that take turns.
        var apps = 1
        /// Further apps, each with its own key and hence its own connection.
        var idleApps = 0
        /// Reply queues that take turns; `nil` is the configured one.
        var replyQueues: Int?
    }

    private static let log = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }

    /// A worker with so many apps, each with its own key and the system's authorities. An operation is one app.
    private static func start(_ name: String, apps: Int) -> Benchmark {
        Benchmark(name) { meter in
            let files = try BenchmarkFiles()
            let configuration = try files.configuration(Load(idleApps: apps - 1), trustsSystem: true)
            let network = MemoryNetwork(start: BenchmarkFiles.start) { _ in nil }
            let resources = Worker.Resources(
                brokerNetwork: network, apnsNetwork: network, programs: NoPrograms(), log: log, seed: 1)
            return { operations in
                for _ in 0..<operations / apps {
                    var worker: Result<RunningWorker, any Error>?
                    meter.measure {
                        worker = Result { try AppPlan(configuration).makeWorker(on: resources, at: network.moment) }
                    }
                    // They are read while it is made.
                    withExtendedLifetime(files) {}
                    guard let worker = try worker?.get() else { continue }
                    meter.result += worker.counters.unsettled
                }
            }
        }
    }

    /// - Parameter parkedDevices: devices for which APNs has just responded with 429.
    private static func pipeline(_ name: String, _ sample: Samples.Sample, parkedDevices: Int = 0) -> Benchmark {
        Benchmark(name) { meter in
            let configuration = try BenchmarkFiles().configuration()
            let app = PipelineApp(
                topic: "com.example.app", environment: .production,
                pools: PipelineApp.Pools(notifications: 0, management: 0))
            var world = PipelineWorld(PipelineSettings(configuration, worker: "w"), [app], log)
            let now = BenchmarkFiles.start
            for number in 0..<parkedDevices {
                world.pipeline.received(sample.delivery(to: number), at: now)
                world.perform(at: now)
                world.respond(APNsResponse(status: 429), at: now)
            }
            precondition(world.settled == parkedDevices, "each request is parked")
            return { operations in
                for _ in 0..<operations / EngineBenchmarks.batch {
                    meter.measure {
                        for _ in 0..<EngineBenchmarks.batch {
                            world.pipeline.received(sample.delivery, at: now)
                            world.perform(at: now)
                        }
                        world.respond(APNsResponse(status: 200), at: now)
                    }
                    meter.result += world.settled
                    precondition(world.pipeline.counters.unsettled == 0, "every request is settled")
                }
            }
        }
    }

    private static func worker(
        _ name: String, _ sample: Samples.Sample, _ load: Load = Load(),
        _ configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) -> Benchmark {
        Benchmark(name) { meter in
            let files = try BenchmarkFiles()
            let simulator = try files.simulator()
            let broker = Broker()
            let replyQueues = (0..<(load.replyQueues ?? 0)).map { "push.replies.\($0)" }
            for queue in files.queues(load.queues) + replyQueues + ["push.results"] { broker.declare(queue) }
            let network = MemoryNetwork(start: BenchmarkFiles.start) { endpoint in
                endpoint == BenchmarkFiles.apns ? try? simulator.makeEngine() : BrokerEngine(broker: broker)
            }
            let metered = MeteredNetwork(network, meter)
            var configuration = try files.configuration(load)
            configure(&configuration)
            let resources = Worker.Resources(
                brokerNetwork: metered, apnsNetwork: metered, programs: NoPrograms(), log: log, seed: 1)
            let worker = try AppPlan(configuration).makeWorker(on: resources, at: network.moment)
            func turn() -> Bool {
                let moment = network.moment
                let isDue = worker.nextDeadline.map { $0 <= network.now } ?? false
                meter.measure {
                    if isDue { worker.expire(at: moment) } else { worker.step(at: moment) }
                    if worker.tracer?.takeBatch(at: network.now) != nil { worker.tracer?.batchReceived() }
                }
                while worker.nextEvent() != nil {}
                return worker.nextDeadline.map { $0 <= network.now } ?? false
            }
            network.settle(turn)
            let requests = load.requests(like: sample, queues: files.queues(load.queues), replyQueues)
            var number = 0
            func run(_ operations: Int) throws {
                for _ in 0..<operations / (load.batch * load.devices) {
                    for _ in 0..<load.batch {
                        let request = requests[number % requests.count]
                        try broker.put(request.body, properties: request.properties, into: request.queue)
                        number += 1
                    }
                    // Acks are delayed to be batched.
                    network.advance(by: .milliseconds(10), deadline: { worker.nextDeadline }, turn: turn)
                    precondition(worker.counters.unsettled == 0, "every request is settled")
                    meter.result += Int(worker.counters.outcomes[Int(Outcome.accepted.rawValue)])
                }
            }
            // What is counted is not the first use of an app, a queue or a destination.
            try run(requests.count)
            return run
        }
    }
}

extension WorkerBenchmarks.Load {
    /// The requests that arrive in turn.
    func requests(
        like sample: Samples.Sample, queues: [String], _ replyQueues: [String]
    ) -> [(body: [UInt8], properties: MessageProperties, queue: String)] {
        (0..<max(apps, queues.count, replyQueues.count)).map { number in
            var properties = sample.properties
            if !replyQueues.isEmpty { properties.replyTo = Array(replyQueues[number % replyQueues.count].utf8) }
            return (sample.body(topic: number % apps, devices: devices), properties, queues[number % queues.count])
        }
    }
}

extension Samples.Sample {
    private func with(_ old: String, _ new: String) -> [UInt8] {
        let request = String(decoding: delivery.body, as: UTF8.self)
        precondition(request.contains(old), "the sample has it")
        return Array(request.replacing(old, with: new).utf8)
    }

    /// Its request for another device.
    func delivery(to device: Int) -> Delivery {
        Samples.Sample(name) { _ in String(decoding: with(Samples.token, Samples.token(device)), as: UTF8.self) }
            .delivery
    }

    /// Its request for another of several apps, and so many devices.
    func body(topic: Int, devices: Int) -> [UInt8] {
        if devices > 1 {
            let tokens = (0..<devices).map { "\"\(Samples.token($0))\"" }.joined(separator: ",")
            return with("\"device-token\":\"\(Samples.token)\"", "\"device-tokens\":[\(tokens)]")
        }
        return topic == 0 ? Array(delivery.body) : with("\"com.example.app\"", "\"com.example.app\(topic)\"")
    }
}

extension AppPlan {
    fileprivate func makeWorker(on resources: Worker.Resources, at now: Moment) throws -> RunningWorker {
        RunningWorker(
            try Worker(
                index: 0, plan: self, contexts: try makeContexts(), on: resources, startsSlowly: false, at: now))
    }
}

/// For workers whose decoders need no program.
private final class NoPrograms: ProgramHost {
    func start(_ program: Program, _ engine: any ProgramEngine) { preconditionFailure("no decoder is a program") }
    func stop(_ engine: any ProgramEngine, within grace: Duration) { preconditionFailure("no decoder is a program") }
}

/// A pipeline in a world that accepts and records everything.
private struct PipelineWorld: ~Copyable {
    var pipeline: RequestPipeline
    private var submitted: [Handle] = []
    private var published: UInt64 = 0
    private var confirmed: UInt64 = 0
    private(set) var settled = 0

    init(_ settings: PipelineSettings, _ apps: [PipelineApp], _ log: Logger) {
        pipeline = RequestPipeline(settings, apps: AppTable(apps), log: log, seed: 1)
    }

    mutating func perform(at now: Moment) {
        while let action = pipeline.nextAction() {
            switch action {
            case .submit(let handle, let notification, _, _):
                _ = notification
                submitted.append(handle)
            case .settle: settled += 1
            default: preconditionFailure("everything is accepted")
            }
        }
        while let pending = pipeline.nextPublication(on: .queues, at: now) {
            published += 1
            pipeline.published(pending, as: published, at: now)
        }
    }

    /// APNs responds to everything, and the broker confirms what follows from it.
    mutating func respond(_ response: APNsResponse, at now: Moment) {
        for handle in submitted {
            pipeline.recordDurations(handle, sentAt: now.instant, at: now)
            pipeline.responded(handle, response, at: now)
            perform(at: now)
        }
        while confirmed < published {
            confirmed += 1
            pipeline.confirmed(confirmed, .acked, on: .queues, at: now)
            perform(at: now)
        }
        submitted.removeAll(keepingCapacity: true)
    }
}
