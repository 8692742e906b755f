import AMQP
import Core

/// A command's view of its broker: when it last made progress, and what prevents more.
///
/// Unless waiting is its purpose, a command ends when no broker responds within ``patience``. A broker that begins the
/// handshake in time may take longer, as a slow login does: the connection limits it. If the configuration names
/// several brokers, each of them gets the time once.
struct BrokerProgress {
    /// A command reports within this time that it cannot use the broker. With the close, it ends within three seconds.
    static let patience = Duration.milliseconds(2500)
    /// The timeout for one broker to begin the handshake. It leaves time to try the next one within ``patience``.
    static let attempt = Duration.seconds(2)
    static let silence = "the broker does not respond"

    private let limit: Duration
    private let outlastsLosses: Bool
    private var since: Instant
    private var hasOpened = false
    /// Since when no broker responds; `nil` while one does.
    private var silentSince: Instant?
    /// Whether every broker was tried since a connection was last open.
    private var hasTriedAll = false
    /// The newest loss since a connection was last opened.
    private var loss: AMQPError?
    private var alarm: String?
    /// Why the broker refuses the command's messages; `nil` once the command makes progress or loses a connection.
    var refusal: String?

    /// - Parameters:
    ///   - limit: the longest time without progress.
    ///   - outlastsLosses: whether only the limit ends the command.
    init(limit: Duration, outlastsLosses: Bool = false, at now: Instant) {
        self.limit = limit
        self.outlastsLosses = outlastsLosses
        since = now
        silentSince = now
    }

    /// A delivery, confirm or response arrived that the command waited for.
    mutating func restart(at now: Instant) {
        (since, refusal) = (now, nil)
    }

    /// The broker that is being connected to has begun the handshake.
    mutating func greeted() {
        if !hasTriedAll { silentSince = nil }
    }

    /// Takes every event of the command's connections.
    mutating func took(_ event: AMQPConnection.Event, at now: Instant) {
        switch event {
        case .engine(.opened): (hasOpened, hasTriedAll, silentSince, loss) = (true, false, nil, nil)
        case .engine(.blocked(let reason)): alarm = reason
        case .engine(.unblocked): alarm = nil
        case .disconnected(_, let error, let retryAt):
            (loss, alarm, refusal) = (error, nil, nil)
            // Without a pause, the next broker is tried.
            hasTriedAll = hasTriedAll || retryAt > now
            silentSince = hasTriedAll ? silentSince ?? now : now
        default: break
        }
    }

    /// When the command fails unless it makes progress before.
    var deadline: Instant {
        guard let silentSince, !outlastsLosses else { return since + limit }
        return min(since + limit, silentSince + Self.patience)
    }

    /// - Returns: Why the command fails now; `nil` before the deadline.
    func failure(at now: Instant) -> String? {
        now >= deadline ? cause ?? Self.silence : nil
    }

    /// What prevents progress; `nil` if nothing is known.
    var cause: String? {
        alarm.map { "the broker is blocked: \($0); it accepts no messages until the alarm ends" }
            ?? loss?.description ?? refusal ?? (hasOpened ? nil : Self.silence)
    }

    /// ``cause``, once it has lasted for ``patience``.
    func trouble(at now: Instant) -> String? {
        now >= since + Self.patience ? cause : nil
    }
}
