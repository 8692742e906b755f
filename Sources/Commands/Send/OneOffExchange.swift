import APNs
import Configuration
import Core
import Pipeline
import Runtime
import TLS

/// One request directly to APNs, without a broker, for an operator's command. Sans-IO like a worker.
///
/// It connects, sends, waits for the response and closes. A request that APNs provably did not process is resent, as in
/// any pool.
final class OneOffExchange: Run {
    /// The number of consecutive failed connects after which it gives up.
    static let maximumConnects = 3
    private static let closingTime = Duration.seconds(1)
    private static let handle = Handle(0)

    private let app: Configuration.App
    private var pool: APNsPool
    private var deadline: Instant
    private var failedConnects = 0
    private var lastFailure: APNsError?
    private let operation: ChannelOperation?
    private let isNowOrNever: Bool
    /// The report of the request, with the remedy if APNs refuses the credential; `nil` before the end.
    private(set) var report: Report?
    /// Alarms for the operator, each once.
    private(set) var alarms: [APNsPool.Alarm] = []

    /// - Parameters:
    ///   - app: determines the endpoint and the credential.
    ///   - limits: the timeouts for connecting and for the response.
    ///   - tokens: the signers; they must include the app's key.
    ///   - timeLimit: the total timeout; `nil` for the sum of the timeouts for connecting and the response.
    /// - Throws: if the credential's files cannot be used.
    init(
        _ request: APNsRequest, for app: Configuration.App, _ limits: Configuration.APNs, tokens: ProviderTokens,
        network: any Network, timeLimit: Duration? = nil, seed: UInt64, at now: Moment
    ) throws(TLSError) {
        self.app = app
        isNowOrNever = request.notification.expiration == 0
        operation = if case .management(let operation) = request.notification.target { operation } else { nil }
        let plan = PoolPlan(app, limits, managesChannels: operation != nil)
        pool = plan.makePool(
            connections: 0...1, context: try plan.makeContext(), tokens: tokens, network: network, seed: seed,
            at: now.instant)
        let usual =
            APNsPool.Configuration.connectTimeout + pool.configuration.engine.handshakeTimeout + limits.requestTimeout
        deadline = now.instant + (timeLimit ?? usual)
        pool.submit(request, handle: Self.handle, at: now.instant)
    }

    var nextDeadline: Instant? {
        isFinished ? nil : min(deadline, pool.nextDeadline ?? .distantFuture)
    }

    private(set) var isFinished = false

    func step(at now: Moment) {
        pool.step(at: now)
        while let event = pool.nextEvent() {
            switch event {
            case .responded(_, let response, _): finish(self.report(of: response), at: now.instant)
            case .lost(_, let loss, _): finish(Self.report(of: loss), at: now.instant)
            case .expired: finish(Report(outcome: .expired), at: now.instant)
            case .connected: failedConnects = 0
            case .disconnected(let error): disconnected(error, at: now.instant)
            case .alarm(let alarm): if !alarms.contains(alarm) { alarms.append(alarm) }
            case .goaway, .resent: break
            }
        }
        if now.instant >= deadline {
            if report == nil { giveUp("no response in time", at: now.instant) } else { isFinished = true }
        }
        if report != nil, pool.isDrained { isFinished = true }
    }

    func stop(at now: Moment) {
        giveUp("stopped", at: now.instant)
        isFinished = true
    }

    private func disconnected(_ error: APNsError?, at now: Instant) {
        guard let error, report == nil else { return }
        guard error.code != .certificateRefused else {
            let reason = RejectionReason(rawValue: "BadCertificate")
            return finish(Report(outcome: .rejected, reason: reason, processed: .no, detail: "\(error)"), at: now)
        }
        lastFailure = error
        failedConnects += 1
        if failedConnects >= Self.maximumConnects || !error.isTransient { giveUp("no connection", at: now) }
    }

    private func giveUp(_ why: String, at now: Instant) {
        guard report == nil else { return }
        let processed: Processed = pool.cancel(Self.handle) ? .no : .unknown
        let detail = lastFailure.map { "\(why): \($0)" } ?? why
        finish(Self.report(of: Loss(processed: processed, detail: detail)), at: now)
    }

    private func finish(_ report: Report, at now: Instant) {
        guard self.report == nil else { return }
        var report = report
        if isNowOrNever, report.outcome == .undelivered { report.outcome = .expired }
        if let refusal = report.reason.flatMap({ CredentialRefusal($0, topic: app.topic) }) {
            report.add("not caused by the request: \(refusal.text); \(refusal.hint)")
        }
        self.report = report
        deadline = now + Self.closingTime
        pool.drain(at: now)
    }

    /// As in the result of a request from a queue, except for refusals of the credential, topic or environment. Those
    /// pause an app in a worker, but are `rejected` here.
    private func report(of response: APNsResponse) -> Report {
        let outcome: Outcome =
            switch response.rule.action {
            case .accept: .accepted
            case .unregister, .doubtToken: .unregistered
            case .reject, .doubtTopic, .pauseTopic, .pauseApp, .reconnect, .renewToken: .rejected
            case .resend, .keepToken, .retryLater: .undelivered
            }
        let isUncertain = operation.map { !Notification.Target.management($0).maySendAgain } == true
        let processed: Processed = isUncertain && response.status >= 500 ? .unknown : .no
        var report = Report(
            outcome: outcome, status: response.status, reason: response.reason, timestamp: response.timestamp,
            uniqueID: response.uniqueID, attempts: 1, processed: outcome == .undelivered ? processed : .yes)
        if let operation { report.add(response, to: operation) }
        return report
    }

    private static func report(of loss: Loss) -> Report {
        Report(
            outcome: .undelivered, attempts: loss.processed == .no ? 0 : 1, processed: loss.processed,
            detail: loss.detail)
    }
}
