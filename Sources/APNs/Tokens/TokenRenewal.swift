package import Core

/// Which provider token of a key is sent, and when the next one is signed: never twice within 20 minutes, and none is
/// sent that is older than 60.
///
/// A token is as old as the clock says that says more: the monotonic one stands still while a machine is suspended, the
/// wall clock may be set back. The token before the newest is kept while it is young enough, for APNs may refuse a new
/// one as coming too soon: then another process signs with the same key, and the older token is still good.
///
/// Source: "Establishing a token-based connection to APNs", "Refresh your token regularly".
package struct TokenRenewal: Sendable {
    /// Signing more often makes APNs answer `TooManyProviderTokenUpdates`.
    package static let minimumAge = Duration.seconds(20 * 60)
    /// APNs refuses an older one.
    package static let lifetime = Duration.seconds(60 * 60)
    /// Ten minutes before APNs refuses it.
    package static let renewalAge = Duration.seconds(50 * 60)
    /// How long an older token is sent: a minute less than APNs takes it, since requests are under way for a while.
    package static let oldestAge = Duration.seconds(59 * 60)
    /// How far in the future an `iat` may lie, after the wall clock was set back, before the token is no good.
    package static let tolerance = Duration.seconds(60)

    package enum Choice: Equatable, Sendable {
        /// A token is to be signed now; it is the newest from here on.
        case sign
        case newest
        /// The one before the newest.
        case older
    }

    private var newest: Moment?
    /// `nil` once it is of no use any more.
    private var older: Moment?
    /// APNs has called the newest token expired.
    private var isNewestExpired = false
    /// APNs does not take the newest token yet.
    private var isNewestTooEarly = false

    package init() {}

    /// The token to send now.
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

    /// APNs has called the newest token expired: it is replaced as soon as that is allowed.
    package mutating func newestExpired() {
        isNewestExpired = true
    }

    /// APNs has called the older token expired: it is not sent any more.
    package mutating func olderExpired() {
        older = nil
    }

    /// APNs has refused the newest token because it came too soon.
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
