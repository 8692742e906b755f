package import Core

/// Selects the provider token to send, and decides when to sign the next one: at most once in 20 minutes. Tokens older
/// than 60 minutes are not sent.
///
/// A token's age is the larger of monotonic and wall-clock age. The monotonic clock stops while a machine is
/// suspended; the wall clock may be set back. The previous token is kept while it is young enough: APNs may refuse a
/// new one as too early when another process signs with the same key.
///
/// Source: "Establishing a token-based connection to APNs", "Refresh your token regularly".
package struct TokenRenewal: Sendable {
    /// If tokens are signed more often, APNs returns `TooManyProviderTokenUpdates`.
    package static let minimumAge = Duration.seconds(20 * 60)
    /// APNs refuses older tokens.
    package static let lifetime = Duration.seconds(60 * 60)
    /// Ten minutes before the token expires.
    package static let renewalAge = Duration.seconds(50 * 60)
    /// The age up to which an older token is sent: one minute less than its lifetime, because requests take time to
    /// arrive.
    package static let oldestAge = Duration.seconds(59 * 60)
    /// How far in the future an `iat` may be, after the wall clock was set back, before the token is discarded.
    package static let tolerance = Duration.seconds(60)

    package enum Choice: Equatable, Sendable {
        /// Sign a new token now; it becomes the newest.
        case sign
        case newest
        /// The token before the newest.
        case older
    }

    private var newest: Moment?
    /// `nil` once it is no longer usable.
    private var older: Moment?
    /// APNs has reported the newest token as expired.
    private var isNewestExpired = false
    /// APNs does not accept the newest token yet.
    private var isNewestTooEarly = false

    package init() {}

    package mutating func choose(at now: Moment) -> Choice {
        if isNewestTooEarly {
            if let older, Self.isUsable(older, at: now) { return .older }
            isNewestTooEarly = false
        }
        guard isDue(at: now) else { return .newest }
        older = isNewestExpired ? nil : newest
        newest = now
        isNewestExpired = false
        return .sign
    }

    /// APNs has reported the newest token as expired. It is replaced as soon as signing is allowed.
    package mutating func newestExpired() {
        isNewestExpired = true
    }

    /// APNs has reported the older token as expired. It is no longer sent.
    package mutating func olderExpired() {
        older = nil
    }

    /// APNs has refused the newest token as too early.
    ///
    /// - Returns: Whether the older one is sent from now on.
    package mutating func newestRefusedAsUpdate(at now: Moment) -> Bool {
        guard let older, Self.isUsable(older, at: now) else { return false }
        isNewestTooEarly = true
        return true
    }

    private func isDue(at now: Moment) -> Bool {
        guard let newest else { return true }
        let age = Self.age(of: newest, at: now)
        if age >= Self.renewalAge { return true }
        guard age >= Self.minimumAge else { return false }
        return isNewestExpired || Self.isAhead(newest, of: now)
    }

    private static func isUsable(_ signedAt: Moment, at now: Moment) -> Bool {
        age(of: signedAt, at: now) < oldestAge && !isAhead(signedAt, of: now)
    }

    private static func age(of signedAt: Moment, at now: Moment) -> Duration {
        max(now.instant - signedAt.instant, wallAge(of: signedAt, at: now))
    }

    private static func wallAge(of signedAt: Moment, at now: Moment) -> Duration {
        .milliseconds(now.wall.milliseconds - signedAt.wall.milliseconds)
    }

    private static func isAhead(_ signedAt: Moment, of now: Moment) -> Bool {
        wallAge(of: signedAt, at: now) < .zero - tolerance
    }
}
