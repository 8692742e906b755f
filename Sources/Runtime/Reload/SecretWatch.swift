package import Configuration
package import Core
package import System

/// Tells when the file with the broker's password holds another one.
///
/// The file is read every ten seconds, and more often near the end of a token: then after a tenth of the time that is
/// left. It is read whole because it is small, and replaced files of one second may have equal stamps.
package struct SecretWatch {
    package enum Finding: Equatable {
        /// Another password, which was there at two looks in a row.
        case renewed
        /// Why the file cannot be read; once for each reason. The password before stays in force.
        case unreadable(String)
        /// The token in force ends soon, and the file holds no other one; once for each token.
        case expiresSoon
    }

    static let longestInterval = Duration.seconds(10)
    static let shortestInterval = Duration.seconds(1)
    /// A warning is due so long before a token's end, or in the last fifth of its time.
    static let warningTime = Duration.seconds(60)

    package let file: FilePath
    /// In force.
    package private(set) var secret: Secret
    /// `nil` where it is any other password.
    package private(set) var token: AccessToken?
    package private(set) var nextCheck: Instant
    /// What the last look found instead of ``secret``.
    private var candidate: Secret?
    /// Why the file cannot be read; `nil` after a success.
    package private(set) var problem: String?
    /// When a warning is due; `nil` without an end, and after the warning.
    private var warning: WallTime?

    /// - Returns: `nil` where the password is not in a file.
    package init?(_ broker: Configuration.Broker, at now: Moment) {
        guard let file = broker.passwordFile, let secret = broker.password else { return nil }
        self.file = file
        self.secret = secret
        nextCheck = now.instant
        adopt(secret, at: now)
    }

    /// - Parameters:
    ///   - content: of the file.
    ///   - isComplete: whether the file is complete, so that one read is enough.
    package mutating func checked(
        _ content: Result<Secret, Complaint>, isComplete: Bool = false, at now: Moment
    ) -> Finding? {
        defer { nextCheck = now.instant + interval(at: now.wall) }
        let found: Secret
        switch content {
        case .failure(let failure):
            candidate = nil
            defer { problem = failure.message }
            return problem == failure.message ? nil : .unreadable(failure.message)
        case .success(let secret): found = secret
        }
        problem = nil
        let wasSeen = found == candidate
        candidate = found == secret ? nil : found
        if candidate != nil, wasSeen || isComplete {
            adopt(found, at: now)
            return .renewed
        }
        guard candidate == nil, let due = warning, due <= now.wall else { return nil }
        warning = nil
        return .expiresSoon
    }

    /// Negative once the token has expired.
    package func secondsLeft(at now: WallTime) -> Int64? {
        token?.expires.map { ($0.milliseconds - now.milliseconds) / 1000 }
    }

    private mutating func adopt(_ secret: Secret, at now: Moment) {
        self.secret = secret
        candidate = nil
        token = AccessToken(secret)
        warning = token?.expires.map { end in
            let left = max(0, end.milliseconds - now.wall.milliseconds)
            return WallTime(milliseconds: end.milliseconds - min(Self.warningTime.nanoseconds / 1_000_000, left / 5))
        }
    }

    private func interval(at now: WallTime) -> Duration {
        if candidate != nil { return Self.shortestInterval }
        guard let end = token?.expires else { return Self.longestInterval }
        let tenth = Duration.milliseconds(max(0, end.milliseconds - now.milliseconds) / 10)
        return min(max(tenth, Self.shortestInterval), Self.longestInterval)
    }
}
