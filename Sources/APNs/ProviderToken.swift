package import Core
package import TLS

/// A provider token as it stands in `authorization`.
package struct ProviderToken: Equatable, Sendable {
    /// `bearer <token>`: a secret.
    package let headerValue: [UInt8]
    /// Counts the tokens of one source.
    package let generation: UInt32
    /// `iat`, in whole seconds.
    package let issuedAt: WallTime
}

/// When a provider token is signed anew: never twice within 20 minutes, and never used when it is older than 60.
///
/// A token is as old as the clock says that says more: the monotonic one stands still while a machine is suspended, the
/// wall clock may be set back.
///
/// Source: "Establishing a token-based connection to APNs", "Refresh your token regularly".
package struct TokenRenewal: Sendable {
    /// Signing more often makes APNs answer `TooManyProviderTokenUpdates`.
    package static let minimumAge = Duration.seconds(20 * 60)
    /// Ten minutes before APNs refuses it.
    package static let renewalAge = Duration.seconds(50 * 60)
    /// How far in the future an `iat` may lie, after the wall clock was set back, before the token is no good.
    package static let tolerance = Duration.seconds(60)

    private var signedAt: Moment?
    private var isRejected = false

    package init() {}

    /// - Returns: Whether a token is to be signed now; if so, it is taken to be signed.
    package mutating func needsToken(at now: Moment) -> Bool {
        guard isDue(at: now) else { return false }
        signedAt = now
        isRejected = false
        return true
    }

    /// APNs has refused the newest token as expired.
    package mutating func rejected() {
        isRejected = true
    }

    private func isDue(at now: Moment) -> Bool {
        guard let signedAt else { return true }
        let wallAge = Duration.milliseconds(now.wall.milliseconds - signedAt.wall.milliseconds)
        let age = max(now.instant - signedAt.instant, wallAge)
        if age >= Self.renewalAge { return true }
        guard age >= Self.minimumAge else { return false }
        return isRejected || wallAge < .zero - Self.tolerance
    }
}

/// The provider tokens of one signing key, for all workers of the process: they all send the same one.
///
/// Signs when a token is asked for and due, in about 30 µs; the other calls only copy a reference.
package final class ProviderTokenSource: Sendable {
    private struct State {
        let key: SigningKey
        var renewal = TokenRenewal()
        var token: ProviderToken?
    }

    package let keyID: String
    package let teamID: String
    private let state: Guarded<State>

    /// - Parameters:
    ///   - keyID: ten letters and digits, from the developer account.
    ///   - teamID: ten letters and digits.
    package init(key: sending SigningKey, keyID: String, teamID: String) {
        let isPlain = (keyID + teamID).utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        precondition(isPlain, "identifiers are letters and digits")
        self.keyID = keyID
        self.teamID = teamID
        state = Guarded(State(key: key))
    }

    /// The token to send now.
    package func token(at now: Moment) -> ProviderToken {
        state.withLock { state in
            if !state.renewal.needsToken(at: now), let token = state.token { return token }
            let token = ProviderToken(
                headerValue: signed(at: now.wall, by: state.key), generation: (state.token?.generation ?? 0) + 1,
                issuedAt: WallTime(milliseconds: now.wall.seconds * 1000))
            state.token = token
            return token
        }
    }

    /// APNs has answered `ExpiredProviderToken` to a token of `generation`.
    ///
    /// - Returns: Whether ``token(at:)`` gives another one now. It does not when the refused token is too young to be
    ///   signed anew: then it is a clock that is wrong.
    package func rejected(generation: UInt32, at now: Moment) -> Bool {
        state.withLock { state in
            if state.token?.generation == generation { state.renewal.rejected() }
        }
        return token(at: now).generation != generation
    }

    /// When the newest token was issued; `nil` before the first one.
    package var issuedAt: WallTime? {
        state.withLock { $0.token?.issuedAt }
    }

    /// A JSON Web Token, signed with ES256. Sources: RFC 7519; RFC 7518, section 3.4; "Establishing a token-based
    /// connection to APNs", "Create and encrypt your JSON token".
    private func signed(at now: WallTime, by key: borrowing SigningKey) -> [UInt8] {
        var text: [UInt8] = []
        Base64URL.append(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8).span, to: &text)
        text.append(UInt8(ascii: "."))
        Base64URL.append(Array(#"{"iss":"\#(teamID)","iat":\#(now.seconds)}"#.utf8).span, to: &text)
        let signature = key.signES256(text.span)
        text.append(UInt8(ascii: "."))
        Base64URL.append(signature.span, to: &text)
        return Array("bearer ".utf8) + text
    }
}
