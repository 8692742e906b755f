import APNs
import Configuration
import Core
import Runtime
import TLS

/// Checks one service of APNs the way a worker uses it: connection, TLS, HTTP/2, and the response to a request that
/// sends no notification. Sans-IO like a worker.
///
/// It requests the list of an app's channels. On the channel management service this has no side effects, and the
/// response shows whether APNs accepts the credential. All other services refuse it with a reason of APNs, and get no
/// provider token.
final class APNsCheck: PlaceCheck {
    /// The timeout for the response.
    private static let timeLimit = Duration.seconds(10)
    private static let handle = Handle(0)

    private let target: APNsTarget
    private let link: APNsLink
    private let token: ProviderTokenSource?
    private let network: any Network
    private let requestID: NotificationID
    private var deadline: Instant
    private var isAnswered = false
    private var lossDetail: String?
    private(set) var findings: [ConnectionFinding] = []
    private(set) var isFinished = false

    init(
        _ target: APNsTarget, context: TLSContext, tokens: ProviderTokens, network: any Network,
        requestID: NotificationID, at now: Instant
    ) throws(APNsError) {
        self.target = target
        self.requestID = requestID
        token = target.judgesToken ? tokens.source(for: target.identity.credential) : nil
        var configuration = APNsEngine.Configuration(endpoint: target.endpoint, usesProviderToken: token != nil)
        configuration.requestTimeout = Self.timeLimit
        link = APNsLink(try APNsEngine(configuration: configuration, tls: context))
        self.network = network
        // Each stage has a limit; this limit covers all of them, including a proxy.
        deadline = now + APNsPool.Configuration.connectTimeout * 2 + configuration.handshakeTimeout + Self.timeLimit * 2
        network.connect(
            link, to: target.endpoint, through: target.identity.proxy, timeout: APNsPool.Configuration.connectTimeout)
    }

    var nextDeadline: Instant? { isFinished ? nil : deadline }

    func step(at now: Moment) {
        while let event = link.engine.nextEvent() {
            switch event {
            case .ready: ready(at: now)
            case .responded(_, let response):
                isAnswered = true
                findings += target.findings(about: response)
                link.engine.retire(at: now.instant)
            case .lost(_, let loss):
                lossDetail = loss.detail
                link.engine.retire(at: now.instant)
            case .goaway: break
            case .closed(let error): closed(error)
            }
        }
        if !isFinished, now.instant >= deadline {
            findings.append(target.silence())
            stop(at: now)
        }
    }

    func stop(at now: Moment) {
        isFinished = true
        network.disconnect(link)
    }

    private func ready(at now: Moment) {
        if let security = link.engine.security { findings.append(.secured(security)) }
        let streams = link.engine.maximumConcurrentStreams
        findings.append(
            ConnectionFinding(.ok, "http/2", "\(streams) stream\(streams == 1 ? "" : "s") at once for now"))
        guard link.engine.freeStreams > 0 else { return link.engine.retire(at: now.instant) }
        do throws(APNsError) {
            try link.engine.submit(
                APNsRequest(Notification(.list), topic: ArraySlice(target.app.topic.utf8), id: requestID),
                handle: Self.handle, authorization: token?.token(at: now), at: now.instant)
        } catch {
            findings.append(.failure("answer", error))
            link.engine.retire(at: now.instant)
        }
    }

    private func closed(_ error: APNsError?) {
        isFinished = true
        guard !isAnswered else { return }
        if let error {
            findings.append(target.failure(error))
        } else if let lossDetail {
            findings.append(target.silence(lossDetail))
        } else {
            findings.append(ConnectionFinding(.warning, "answer", "the connection ended without a response"))
        }
    }
}
