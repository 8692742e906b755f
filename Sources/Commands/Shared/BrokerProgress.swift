import AMQP
import Core

/// A command's view of its broker: when it last made progress, and what prevents more.
struct BrokerProgress {
    /// A command reports within this time that it cannot use the broker.
    static let patience = Duration.seconds(3)
    static let silence = "the broker does not respond"

    private let limit: Duration
    private let outlastsLosses: Bool
    private var since: Instant
    private var hasOpened = false
    /// The newest loss since a connection was last opened, and the time of the first one.
    private var loss: (error: AMQPError, first: Instant)?
    private var alarm: String?

    /// - Parameters:
    ///   - limit: the longest time without progress.
    ///   - outlastsLosses: whether only the limit ends the command. Otherwise it also ends when no connection opens
    ///     within ``patience`` after a loss.
    init(limit: Duration, outlastsLosses: Bool = false, at now: Instant) {
        self.limit = limit
        self.outlastsLosses = outlastsLosses
        since = now
    }

    /// A delivery, confirm or response arrived that the command waited for.
    mutating func restart(at now: Instant) {
        since = now
    }

    /// Takes every event of the command's connections.
    mutating func took(_ event: AMQPConnection.Event, at now: Instant) {
        switch event {
        case .engine(.opened): (hasOpened, loss) = (true, nil)
        case .engine(.blocked(let reason)): alarm = reason
        case .engine(.unblocked): alarm = nil
        case .disconnected(_, let error, _): (loss, alarm) = ((error, loss?.first ?? now), nil)
        default: break
        }
    }

    /// When the command fails unless it makes progress before.
    var deadline: Instant {
        guard let loss, !outlastsLosses else { return since + limit }
        return min(since + limit, loss.first + Self.patience)
    }

    /// - Returns: Why the command fails now; `nil` before the deadline.
    func failure(at now: Instant) -> String? {
        now >= deadline ? cause ?? Self.silence : nil
    }

    /// What prevents progress; `nil` if nothing is known.
    var cause: String? {
        alarm.map { "the broker is blocked: \($0); it accepts no messages until the alarm ends" }
            ?? loss?.error.description ?? (hasOpened ? nil : Self.silence)
    }

    /// ``cause``, once it has lasted for ``patience``.
    func trouble(at now: Instant) -> String? {
        now >= since + Self.patience ? cause : nil
    }
}
