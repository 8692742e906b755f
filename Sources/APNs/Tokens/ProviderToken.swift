package import Core
package import TLS

package struct ProviderToken: Equatable, Sendable {
    /// `bearer <token>`: a secret.
    package let headerValue: [UInt8]
    /// Numbers the tokens of one source.
    package let generation: UInt32
    /// `iat`, in whole seconds.
    package let issuedAt: WallTime
}

/// The provider tokens of one signing key, shared by all workers of the process.
///
/// Signing happens when a due token is requested, and takes about 30 µs. The other calls only copy a reference.
package final class ProviderTokenSource: Sendable {
    /// What to send instead of a token that APNs refused as too early.
    package enum Fallback: Equatable, Sendable {
        /// APNs would not accept any other token.
        case none
        /// The previous token, from now on.
        case older
        /// Another token is already in use: many requests are refused for the same token.
        case inUse
    }

    private struct State {
        let key: SigningKey
        var renewal = TokenRenewal()
        var newest: ProviderToken?
        var older: ProviderToken?
    }

    package let keyID: String
    package let teamID: String
    private let state: Guarded<State>

    /// - Parameters:
    ///   - keyID: from the developer account. Only letters and digits, which the configuration's rules check, so that
    ///     the token's JSON needs no escapes.
    ///   - teamID: the same.
    package init(key: sending SigningKey, keyID: String, teamID: String) {
        self.keyID = keyID
        self.teamID = teamID
        state = Guarded(State(key: key))
    }

    package func token(at now: Moment) -> ProviderToken {
        state.withLock { current(&$0, at: now) }
    }

    /// APNs has returned `ExpiredProviderToken` for a token of `generation`.
    ///
    /// - Returns: Whether ``token(at:)`` now returns another one. It does not if the refused token is too young to be
    ///   replaced: then a clock is wrong.
    package func expired(generation: UInt32, at now: Moment) -> Bool {
        state.withLock { state in
            if state.newest?.generation == generation {
                state.renewal.newestExpired()
            } else if state.older?.generation == generation {
                state.renewal.olderExpired()
            }
            return current(&state, at: now).generation != generation
        }
    }

    /// APNs has returned `TooManyProviderTokenUpdates` for a token of `generation`. The previous token is sent from
    /// now on, while it is younger than 60 minutes.
    package func refusedAsUpdate(generation: UInt32, at now: Moment) -> Fallback {
        state.withLock { state in
            guard current(&state, at: now).generation == generation else { return .inUse }
            guard state.newest?.generation == generation, state.renewal.newestRefusedAsUpdate(at: now) else {
                return .none
            }
            return .older
        }
    }

    private func current(_ state: inout State, at now: Moment) -> ProviderToken {
        let choice = state.renewal.choose(at: now)
        if choice == .sign {
            state.older = state.newest
            state.newest = ProviderToken(
                headerValue: signed(at: now.wall, by: state.key), generation: (state.newest?.generation ?? 0) + 1,
                issuedAt: WallTime(milliseconds: now.wall.seconds * 1000))
        }
        let chosen = choice == .older ? state.older : state.newest
        guard let chosen else { preconditionFailure("only a signed token can be chosen") }
        return chosen
    }

    /// When the newest token was issued; `nil` before the first one.
    package var issuedAt: WallTime? {
        state.withLock { $0.newest?.issuedAt }
    }

    /// A JSON Web Token, signed with ES256. Sources: RFC 7519; RFC 7518, section 3.4; "Establishing a token-based
    /// connection to APNs", "Create and encrypt your JSON token".
    private func signed(at now: WallTime, by key: borrowing SigningKey) -> [UInt8] {
        var text: [UInt8] = []
        Base64.url.append(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8).span, to: &text)
        text.append(UInt8(ascii: "."))
        Base64.url.append(Array(#"{"iss":"\#(teamID)","iat":\#(now.seconds)}"#.utf8).span, to: &text)
        let signature = key.signES256(text.span)
        text.append(UInt8(ascii: "."))
        Base64.url.append(signature.span, to: &text)
        return Array("bearer ".utf8) + text
    }
}
