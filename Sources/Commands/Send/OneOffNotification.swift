import AMQP
import APNs
import Configuration
import Core
import Decoding
import Logging
import Pipeline
import Runtime
import TLS

/// One request from an operator directly to APNs, and its result.
///
/// It uses a ``RequestPipeline`` like a worker, so its checks and the form of its result are the same.
/// Unlike a worker it makes one exchange with APNs and does not retry, because an operator waits for it.
final class OneOffNotification: Run {
    /// A result requires a reply address. The result is read from memory and never published.
    private static let replyTo = "result"

    private var pipeline: RequestPipeline
    private var exchange: (OneOffExchange, handle: Handle)?
    private(set) var result: OneOffResult?

    /// - Parameter timeLimit: the total timeout; `nil` for the sum of the timeouts for connecting and the response.
    init(
        _ request: OneOffRequest, _ configuration: Configuration, network: any Network, timeLimit: Duration? = nil,
        log: Logger, seed: UInt64, at now: Moment
    ) throws(TLSError) {
        var settings = PipelineSettings(configuration, worker: "")
        settings.queues = [PipelineQueue(name: "", decoder: APNsHeadersDecoder(), decoderName: "", prefetch: 1)]
        settings.feedback = nil
        settings.resultsPer = .notification
        pipeline = RequestPipeline(settings, apps: try AppTable(configuration), log: log, seed: seed)
        pipeline.received(request.delivery(replyTo: Self.replyTo), at: now)
        while let action = pipeline.nextAction() {
            guard case .submit(let handle, let notification, let pool, _) = action else {
                preconditionFailure("a new request is submitted, or ends with a result")
            }
            let app = configuration.apps[pool.index]
            let exchange = try OneOffExchange(
                notification, for: app, configuration.apns, tokens: ProviderTokens([app]),
                network: network, timeLimit: timeLimit, seed: seed, at: now)
            self.exchange = (exchange, handle)
        }
        takeResult(at: now)
    }

    var alarms: [APNsPool.Alarm] { exchange?.0.alarms ?? [] }

    var isFinished: Bool { exchange?.0.isFinished ?? true }

    var nextDeadline: Instant? { exchange?.0.nextDeadline }

    func step(at now: Moment) {
        guard let (exchange, handle) = exchange else { return }
        exchange.step(at: now)
        guard result == nil, let report = exchange.report else { return }
        pipeline.finish(handle, report, at: now)
        takeResult(at: now)
    }

    func stop(at now: Moment) {
        exchange?.0.stop(at: now)
        step(at: now)
    }

    /// The result is never confirmed, so no dead letter or settlement follows.
    private func takeResult(at now: Moment) {
        while let pending = pipeline.nextPublication(on: .queues, at: now) {
            result = OneOffResult(json: pending.publication.body)
        }
    }
}

extension AppTable {
    /// All apps of a configuration. Each one's index is the number of its only pool.
    init(_ configuration: Configuration) throws(TLSError) {
        self.init(
            try configuration.apps.enumerated().map { index, app throws(TLSError) in
                PipelineApp(
                    topic: app.topic, environment: app.environment,
                    pools: PipelineApp.Pools(notifications: PoolID(index), management: PoolID(index)),
                    certificate: try app.credential.tlsIdentity()?.certificate())
            })
    }
}
