package import AMQP
package import APNs
package import Configuration
package import Core
import Decoding
package import Logging
package import Pipeline
import Runtime
package import TLS

/// One handmade request straight to APNs, and its result.
///
/// It goes through a pipeline of its own, as a delivery that no broker brought: what is checked before anything is
/// sent, and how a result is written, cannot differ from what a worker does. Only the way to APNs is another: one
/// exchange, and no retry that a person would have to wait for. Sans-IO like a worker.
package final class DirectNotification: Run, PipelineDoors {
    /// Where the result goes: nowhere, but it is asked for.
    private static let replyTo = "result"

    private let configuration: Configuration
    private let network: any Network
    private let patience: Duration?
    private let seed: UInt64
    // Set once, at the end of init: the pipeline's doors are this object's own.
    private var pipeline: Pipeline!
    private var exchange: (DirectExchange, handle: UInt32)?
    private var failure: TLSError?
    package private(set) var result: HandmadeResult?

    /// - Parameter patience: for connecting and the answer together; `nil` takes what both may take.
    /// - Throws: where the credential's files cannot be used.
    package init(
        _ request: HandmadeRequest, _ configuration: Configuration, network: any Network, patience: Duration? = nil,
        log: Logger, seed: UInt64, at now: Moment
    ) throws(TLSError) {
        self.configuration = configuration
        self.network = network
        self.patience = patience
        self.seed = seed
        var settings = PipelineSettings(configuration, worker: "")
        settings.queues = [PipelineQueue(name: "", decoder: APNsHeadersDecoder(), prefetch: 1)]
        settings.feedback = nil
        var apps: [PipelineApp] = []
        for (index, app) in configuration.apps.enumerated() {
            let pools = PipelineApp.Pools(notifications: index, broadcasts: index, management: index)
            apps.append(try PipelineApp(app, pools: pools))
        }
        pipeline = Pipeline(settings: settings, apps: AppTable(apps), doors: self, log: log, seed: seed)
        pipeline.received(request.delivery(replyTo: Self.replyTo), at: now)
        if let failure { throw failure }
    }

    /// What else the operator should know.
    package var alarms: [APNsPool.Alarm] { exchange?.0.alarms ?? [] }

    package var isFinished: Bool { exchange?.0.isFinished ?? true }

    package var nextDeadline: Instant? { exchange?.0.nextDeadline }

    package func step(at now: Moment) {
        guard let (exchange, handle) = exchange else { return }
        exchange.step(at: now)
        if result == nil, let end = exchange.end { pipeline.finish(handle, end.report, at: now) }
    }

    package func stop(at now: Moment) {
        exchange?.0.stop(at: now)
        step(at: now)
    }

    // MARK: PipelineDoors

    /// - Parameter pool: an app.
    package func submit(_ request: consuming APNsRequest, handle: UInt32, isProbe: Bool, pool: Int, at now: Moment) {
        let app = configuration.apps[pool]
        do throws(TLSError) {
            exchange = (
                try DirectExchange(
                    request, for: app, configuration.apns, tokens: ProviderTokens([app]), network: network,
                    patience: patience, seed: seed, at: now), handle
            )
        } catch {
            failure = error
        }
    }

    package func withdraw(_ handle: UInt32, pool: Int) -> Bool { false }

    package func isConnected(pool: Int) -> Bool { true }

    package func take(_ intake: Intake) {}

    package func canPublish(_ lane: PublishLane) -> Bool { true }

    package func connect(_ lane: PublishLane) {}
    package func maximumProperties(on lane: PublishLane) -> Int { .max }

    /// Takes the result. It is never confirmed, so nothing comes after it: no dead letter, no settlement.
    package func publish(_ publication: Publication, on lane: PublishLane) throws(AMQPError) -> UInt64 {
        let headers = try FieldTable(decoding: publication.properties.headers ?? [])
        result = HandmadeResult(json: publication.body) { name in
            guard case .text(let text) = headers[name.description] else { return nil }
            return text[...]
        }
        return 1
    }

    package func ask(_ process: Int, handle: UInt32, _ delivery: Delivery) {
        preconditionFailure("what is made here is decoded here")
    }

    package func settle(_ delivery: Delivery, _ settlement: Settlement) {}
}
