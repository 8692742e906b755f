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
/// Unlike a worker it makes one exchange with APNs and does not retry, because an operator waits for it. Sans-IO like a
/// worker.
final class OneOffNotification: Run {
    /// A result requires a reply address. The result is read from memory and never published.
    private static let replyTo = "result"

    private let configuration: Configuration
    private let network: any Network
    private let timeLimit: Duration?
    private let seed: UInt64
    private var pipeline: RequestPipeline
    private var exchange: (OneOffExchange, handle: Handle)?
    private var failure: TLSError?
    private(set) var result: OneOffResult?

    /// - Parameter patience: the total timeout; `nil` for the sum of the timeouts for connecting and the response.
    /// - Throws: if the credential's files cannot be used.
    init(
        _ request: OneOffRequest, _ configuration: Configuration, network: any Network, timeLimit: Duration? = nil,
        log: Logger, seed: UInt64, at now: Moment
    ) throws(TLSError) {
        self.configuration = configuration
        self.network = network
        self.timeLimit = timeLimit
        self.seed = seed
        var settings = PipelineSettings(configuration, worker: "")
        settings.queues = [PipelineQueue(name: "", decoder: APNsHeadersDecoder(), prefetch: 1)]
        settings.feedback = nil
        settings.resultsPer = .notification
        var apps: [PipelineApp] = []
        for (index, app) in configuration.apps.enumerated() {
            let pool = PoolID(index)
            let pools = PipelineApp.Pools(notifications: pool, broadcasts: pool, management: pool)
            apps.append(try PipelineApp(app, pools: pools))
        }
        pipeline = RequestPipeline(settings, apps: AppTable(apps), log: log, seed: seed)
        pipeline.received(request.delivery(replyTo: Self.replyTo), at: now)
        performActions(at: now)
        if let failure { throw failure }
    }

    /// Alarms for the operator.
    var alarms: [APNsPool.Alarm] { exchange?.0.alarms ?? [] }

    var isFinished: Bool { exchange?.0.isFinished ?? true }

    var nextDeadline: Instant? { exchange?.0.nextDeadline }

    func step(at now: Moment) {
        guard let (exchange, handle) = exchange else { return }
        exchange.step(at: now)
        guard result == nil, let report = exchange.report else { return }
        pipeline.finish(handle, report, at: now)
        performActions(at: now)
    }

    func stop(at now: Moment) {
        exchange?.0.stop(at: now)
        step(at: now)
    }

    /// The result is never confirmed, so no dead letter or settlement follows.
    private func performActions(at now: Moment) {
        while let action = pipeline.nextAction() {
            guard case .submit(let handle, let notification, _) = action else {
                preconditionFailure("the one-off notification must have one attempt")
            }
            submit(notification.apnsRequest, handle, to: notification.pool, at: now)
        }
        while let pending = pipeline.nextPublication(on: .queues, at: now) {
            result = OneOffResult(pending.publication)
        }
    }

    private func submit(_ request: APNsRequest, _ handle: Handle, to pool: PoolID, at now: Moment) {
        let app = configuration.apps[pool.index]
        do throws(TLSError) {
            exchange = (
                try OneOffExchange(
                    request, for: app, configuration.apns, tokens: ProviderTokens([app]), network: network,
                    timeLimit: timeLimit, seed: seed, at: now), handle
            )
        } catch {
            failure = error
        }
    }
}

extension OneOffResult {
    fileprivate init?(_ publication: Publication) {
        let headers = publication.properties.headers
        self.init(json: publication.body) { name in
            guard case .text(let text) = headers?[name.description] else { return nil }
            return text[...]
        }
    }
}
