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
        worker("worker, apns-json", Samples.all[2]), worker("worker, apns-headers", Samples.all[3]),
        worker("worker, 999 idle apps", Samples.all[2], idleApps: 999),
        worker("worker, one at a time", Samples.all[2], batch: 1),
        worker("worker, traced", Samples.all[2]) {
            $0.tracing = Configuration.Tracing(
                endpoint: Endpoint(host: "collector", port: 4318), usesTLS: false, sampleRatio: 1)
        },
        worker("worker, fan-out, a device", Samples.all[2], batch: 1, devices: 256),
        worker("worker, fan-out, one result", Samples.all[2], batch: 1, devices: 256) {
            $0.results.per = .request
        },
    ]

    private static let log = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }

    private static func pipeline(_ name: String, _ sample: Samples.Sample) -> Benchmark {
        Benchmark(name) { meter in
            let configuration = try BenchmarkFiles().configuration()
            let app = PipelineApp(
                topic: "com.example.app", environment: .production,
                pools: PipelineApp.Pools(notifications: 0, broadcasts: 0, management: 0))
            var world = PipelineWorld(PipelineSettings(configuration, worker: "w"), [app], log)
            let now = BenchmarkFiles.start
            let response = APNsResponse(status: 200)
            return { operations in
                for _ in 0..<operations / EngineBenchmarks.batch {
                    meter.measure {
                        for _ in 0..<EngineBenchmarks.batch {
                            world.pipeline.received(sample.delivery, at: now)
                            world.perform(at: now)
                        }
                        for handle in world.submitted {
                            world.pipeline.timed(handle, sentAt: now.instant, at: now)
                            world.pipeline.responded(handle, response, at: now)
                            world.perform(at: now)
                        }
                        while world.confirmed < world.published {
                            world.confirmed += 1
                            world.pipeline.confirmed(world.confirmed, .acked, on: .queues, at: now)
                            world.perform(at: now)
                        }
                    }
                    meter.result += world.settled
                    world.submitted.removeAll(keepingCapacity: true)
                    precondition(world.pipeline.unsettled == 0, "every request is settled")
                }
            }
        }
    }

    /// - Parameters:
    ///   - batch: requests that arrive together. A single one causes whole turns of the worker, as at a low rate.
    ///   - devices: notifications of a request; an operation is one notification.
    private static func worker(
        _ name: String, _ sample: Samples.Sample, idleApps: Int = 0, batch: Int = EngineBenchmarks.batch,
        devices: Int = 1, _ configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) -> Benchmark {
        Benchmark(name) { meter in
            let files = try BenchmarkFiles()
            let simulator = try files.simulator()
            let broker = Broker()
            for queue in ["push.requests", "push.results"] { broker.declare(queue) }
            let network = MemoryNetwork(start: BenchmarkFiles.start) { endpoint in
                endpoint == BenchmarkFiles.apns ? try? simulator.makeEngine() : BrokerEngine(broker: broker)
            }
            let metered = MeteredNetwork(network, meter)
            var configuration = try files.configuration(idleApps: idleApps)
            configure(&configuration)
            let plan = try AppPlan(configuration)
            let environment = WorkerFactory.Environment(
                brokerNetwork: metered, apnsNetwork: metered, programs: NoPrograms(), log: log, seed: 1)
            let worker = RunningWorker(
                try WorkerFactory.worker(
                    index: 0, plan: plan, contexts: try plan.makeContexts(), on: environment, startsSlowly: false,
                    at: network.moment))
            let properties = sample.properties
            let body = devices == 1 ? Array(sample.delivery.body) : fanOut(sample, devices)
            func turn() -> Bool {
                let moment = network.moment
                meter.measure {
                    worker.step(at: moment)
                    if worker.tracer?.takeBatch(at: network.now) != nil { worker.tracer?.batchReceived() }
                }
                while worker.nextEvent() != nil {}
                return worker.nextDeadline.map { $0 <= network.now } ?? false
            }
            network.settle(turn)
            return { operations in
                for _ in 0..<operations / (batch * devices) {
                    for _ in 0..<batch {
                        try broker.put(body, properties: properties, into: "push.requests")
                    }
                    // Acks are delayed to be batched.
                    network.advance(by: .milliseconds(10), deadline: { worker.nextDeadline }, turn: turn)
                    precondition(worker.counters.unsettled == 0, "every request is settled")
                    meter.result += Int(worker.counters.outcomes[Int(Outcome.accepted.rawValue)])
                }
            }
        }
    }
}

/// The sample's request for so many devices in place of one.
private func fanOut(_ sample: Samples.Sample, _ devices: Int) -> [UInt8] {
    let tokens = (0..<devices).map { index in
        let number = String(index, radix: 16)
        return "\"\(String(repeating: "0", count: 64 - number.count))\(number)\""
    }
    let request = String(decoding: sample.delivery.body, as: UTF8.self)
    let one = "\"device-token\":\"\(Samples.token)\""
    precondition(request.contains(one), "the sample names its device")
    return Array(request.replacing(one, with: "\"device-tokens\":[\(tokens.joined(separator: ","))]").utf8)
}

/// For workers whose decoders need no program.
private final class NoPrograms: ProgramHost {
    func start(_ program: Program, _ engine: any ProgramEngine) { preconditionFailure("no decoder is a program") }
    func stop(_ engine: any ProgramEngine, within grace: Duration) { preconditionFailure("no decoder is a program") }
}

/// A pipeline in a world that accepts and records everything.
private struct PipelineWorld: ~Copyable {
    var pipeline: RequestPipeline
    var submitted: [Handle] = []
    private(set) var published: UInt64 = 0
    var confirmed: UInt64 = 0
    private(set) var settled = 0

    init(_ settings: PipelineSettings, _ apps: [PipelineApp], _ log: Logger) {
        pipeline = RequestPipeline(settings, apps: AppTable(apps), log: log, seed: 1)
    }

    mutating func perform(at now: Moment) {
        while let action = pipeline.nextAction() {
            switch action {
            case .submit(let handle, let notification, _):
                _ = notification.apnsRequest
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
}
