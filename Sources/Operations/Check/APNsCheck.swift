import APNs
import Configuration
import Core
import Proxy
import Runtime
import TLS

/// Looks at one service of APNs as a worker would meet it: the way to it, TLS, HTTP/2, and the answer to a request that
/// notifies nobody. Sans-IO like a worker.
///
/// It asks for the list of an app's channels. Where channels are managed that is a question without a consequence, and
/// its answer tells whether APNs takes the credential; everywhere else APNs refuses it in its own words, and it is
/// asked without a provider token.
final class APNsCheck: PlaceCheck {
    /// For the answer.
    private static let patience = Duration.seconds(10)
    private static let handle = Handle(0)

    private let target: APNsTarget
    private let engine: APNsEngine
    private let token: ProviderTokenSource?
    private let lookedUp: LookedUp
    /// Keeps the tunnel through a proxy.
    private let network: any Network
    private let requestID: NotificationID
    private var deadline: Instant
    private var isAnswered = false
    private var lossDetail: String?
    private(set) var findings: [ConnectionFinding] = []
    private(set) var isFinished = false

    init(
        _ target: APNsTarget, _ limits: Configuration.APNs, context: TLSContext, tokens: ProviderTokens,
        network base: any Network, lookedUp: @escaping LookedUp, requestID: NotificationID, at now: Instant
    ) throws(APNsError) {
        self.target = target
        self.lookedUp = lookedUp
        self.requestID = requestID
        token = target.judgesToken ? tokens.source(for: target.identity.credential) : nil
        var configuration = APNsEngine.Configuration(endpoint: target.endpoint, usesProviderToken: token != nil)
        configuration.requestTimeout = Self.patience
        // No requests wait that a slow end could save.
        configuration.drainTimeout = .seconds(1)
        engine = try APNsEngine(configuration: configuration, tls: context)
        network = target.identity.proxy.map { ProxyNetwork(base, through: $0) } ?? base
        // Each part of the way has a limit of its own; this is for all of them, a proxy included.
        deadline = now + limits.connectTimeout * 2 + configuration.handshakeTimeout + Self.patience * 2
        network.connect(engine, to: target.endpoint, timeout: limits.connectTimeout)
    }

    var nextDeadline: Instant? { isFinished ? nil : deadline }

    func step(at now: Moment) {
        while let event = engine.nextEvent() {
            switch event {
            case .ready: ready(at: now)
            case .replied(_, let reply):
                isAnswered = true
                findings += APNsJudge(target).findings(about: reply)
                engine.retire(at: now.instant)
            case .lost(_, let loss): lossDetail = loss.detail
            case .goaway: break
            case .closed(let error): closed(error)
            }
        }
        if !isFinished, now.instant >= deadline {
            findings.append(APNsJudge(target).silence)
            stop(at: now)
        }
    }

    func stop(at now: Moment) {
        isFinished = true
        network.disconnect(engine)
    }

    private func ready(at now: Moment) {
        addAddresses()
        if let security = engine.security { findings.append(.secured(security, at: now.wall)) }
        let streams = engine.maximumConcurrentStreams
        findings.append(
            ConnectionFinding(.ok, "http/2", "\(streams) stream\(streams == 1 ? "" : "s") at once for now"))
        guard engine.freeStreams > 0 else { return engine.retire(at: now.instant) }
        do throws(APNsError) {
            try engine.submit(
                APNsRequest(.list, bundleID: ArraySlice(target.app.topic.utf8), id: requestID), handle: Self.handle,
                authorization: token?.token(at: now), at: now.instant)
        } catch {
            findings.append(.failure("answer", error))
            engine.retire(at: now.instant)
        }
    }

    private func addAddresses() {
        // A proxy resolves the name itself.
        let place = target.identity.proxy?.endpoint ?? target.endpoint
        if let found = ConnectionFinding.addresses(of: place, lookedUp) { findings.append(found) }
    }

    private func closed(_ error: APNsError?) {
        isFinished = true
        guard !isAnswered else { return }
        if engine.security == nil || findings.isEmpty { addAddresses() }
        if let error {
            findings.append(APNsJudge(target).failure(error))
        } else {
            findings.append(
                ConnectionFinding(.warning, "answer", lossDetail ?? "the connection ended without an answer"))
        }
    }
}
