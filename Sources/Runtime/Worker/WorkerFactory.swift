import AMQP
import APNs
import Configuration
package import Core
import Decoding
package import Logging
import Pipeline

/// Makes a worker from a plan on given networks.
package enum WorkerFactory {
    /// The environment of workers.
    package struct Environment {
        package let brokerNetwork: any Network
        package let apnsNetwork: any Network
        /// Runs the decoders that are programs.
        package let programs: any ProgramHost
        package let log: Logger
        package let seed: UInt64

        package init(
            brokerNetwork: any Network, apnsNetwork: any Network, programs: any ProgramHost, log: Logger, seed: UInt64
        ) {
            self.brokerNetwork = brokerNetwork
            self.apnsNetwork = apnsNetwork
            self.programs = programs
            self.log = log
            self.seed = seed
        }
    }

    /// - Parameters:
    ///   - contexts: for all of the plan's pools.
    ///   - startsSlowly: whether it starts with a small prefetch, see ``PrefetchRamp``.
    package static func worker(
        index: Int, plan: AppPlan, contexts: AppPlan.Contexts, on environment: Environment, startsSlowly: Bool = true,
        at now: Moment
    ) throws -> Worker {
        var random = SplitMix64(seed: environment.seed)
        let configuration = plan.configuration
        let settings = PipelineSettings(configuration, worker: WorkerName.text(index: index))
        let log = LogThrottle(environment.log, at: now.instant)
        // A ramp re-registers its consumer, so a queue with a single active consumer would switch to another worker.
        let queues = configuration.queues.map {
            ConsumedQueue(ramp: PrefetchRamp(full: $0.prefetch, isSlow: startsSlowly && !$0.isSingleActive))
        }
        let consumers = zip(configuration.queues, queues).map {
            ConsumerQueue(
                name: $0.name, prefetch: $1.ramp.prefetch, isSingleActive: $0.isSingleActive,
                priority: $0.consumerPriority)
        }
        let consumer = try BrokerConnections.connection(
            .consumer(consumers), name: "harebell consume \(WorkerName.text(index: index))", configuration.broker,
            network: environment.brokerNetwork, seed: random.next())
        let publishers = try PublisherRole.allCases.map { role in
            try BrokerConnections.connection(
                .publisher, name: "harebell \(role.activity) \(WorkerName.text(index: index))", configuration.broker,
                network: environment.brokerNetwork, seed: random.next())
        }
        let inquiries = try BrokerConnections.connection(
            .control, name: "harebell ask \(WorkerName.text(index: index))", configuration.broker,
            network: environment.brokerNetwork, seed: random.next())
        let decoders = settings.processes.map { process in
            DecoderProcess(
                name: process.name, process.options, host: environment.programs, log: log.logger, at: now.instant)
        }
        let seed = random.next()
        let parts = Worker.Parts(
            index: index, settings: settings, queues: queues, consumer: consumer, publishers: publishers,
            inquiries: inquiries, decoders: decoders, log: log,
            tracer: configuration.tracing.map { Tracer(ratio: $0.sampleRatio, seed: random.next()) }, seed: seed
        ) { wanted, context, tokens, now in
            wanted.makePool(
                context: context, tokens: tokens, network: environment.apnsNetwork, seed: random.next(), at: now)
        }
        return Worker(parts, plan, contexts, at: now)
    }
}

extension PublisherRole {
    /// The purpose of a connection, shown by the broker's management.
    fileprivate var activity: String {
        switch self {
        case .queues: "publish"
        case .directReplies: "publish direct replies"
        case .attempts: "try destinations"
        }
    }
}
