import AMQP
import APNs
import Configuration
package import Core
import Decoding
package import Logging
import Pipeline

/// Makes a worker from a plan on given networks.
extension Worker {
    /// What workers run on.
    package struct Resources {
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
    package init(
        index: Int, plan: AppPlan, contexts: AppPlan.Contexts, on resources: Resources, startsSlowly: Bool = true,
        at now: Moment
    ) throws {
        var random = SplitMix64(seed: resources.seed)
        let configuration = plan.configuration
        let name = WorkerName.text(index: index)
        let settings = PipelineSettings(configuration, worker: name)
        // A ramp re-registers its consumer, so a queue with a single active consumer would switch to another worker.
        let queues = configuration.queues.map {
            ConsumedQueue(ramp: PrefetchRamp(full: $0.prefetch, isSlow: startsSlowly && !$0.isSingleActive))
        }
        let consumers = zip(configuration.queues, queues).map {
            ConsumerQueue(
                name: $0.name, prefetch: $1.ramp.prefetch, isSingleActive: $0.isSingleActive,
                priority: $0.consumerPriority)
        }
        func connection(_ role: AMQPRole, for purpose: BrokerPurpose) throws -> AMQPConnection {
            try BrokerConnections.connection(
                role, name: "harebell \(purpose.rawValue) \(name)", configuration.broker,
                network: resources.brokerNetwork, seed: random.next())
        }
        // Swift 6.3 cannot destroy a noncopyable value that is only partly initialized, so these errors come first.
        let consumer = try connection(.consumer(consumers), for: .consuming)
        let publishers = try PublisherRole.allCases.map { try connection(.publisher, for: $0.purpose) }
        let inquiries = try connection(.control, for: .inquiring)
        self.index = index
        self.queues = queues
        self.now = now
        self.consumer = consumer
        self.publishers = publishers
        self.inquiries = inquiries
        let logThrottle = LogThrottle(resources.log, at: now.instant)
        self.logThrottle = logThrottle
        decoders = settings.processes.map { process in
            DecoderProgram(
                name: process.name, process.options, host: resources.programs, log: logThrottle.logger,
                at: now.instant)
        }
        pace = TurnPace(configuration)
        let seed = random.next()
        let tracer = configuration.tracing.map { Tracer(ratio: $0.sampleRatio, seed: random.next()) }
        self.tracer = tracer
        pools = WorkerPools(on: resources.apnsNetwork, random: random)
        pipeline = RequestPipeline(
            settings, apps: AppTable([]), log: logThrottle.logger, tracer: tracer, seed: seed)
        adopt(plan, contexts)
        consumer.start(at: now.instant)
        publishers[PublisherRole.queues.rawValue].start(at: now.instant)
    }
}
