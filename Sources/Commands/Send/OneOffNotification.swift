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
final class OneOffNotification {
    /// A result requires a reply address. The result is read from memory and never published.
    private static let replyTo = "result"

    private var pipeline: RequestPipeline
    private var handle: Handle?
    /// To be run before ``result(at:)``; `nil` if nothing is sent.
    private(set) var exchange: OneOffExchange?

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
            self.handle = handle
            exchange = try OneOffExchange(
                notification, for: app, configuration.apns, tokens: ProviderTokens([app]),
                network: network, timeLimit: timeLimit, seed: seed, at: now)
        }
    }

    /// The result. It is never confirmed, so no dead letter or settlement follows.
    func result(at now: Moment) -> OneOffResult? {
        if let handle, let report = exchange?.report { pipeline.finish(handle, report, at: now) }
        guard let pending = pipeline.nextPublication(on: .queues, at: now) else { return nil }
        return OneOffResult(json: pending.publication.body)
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
