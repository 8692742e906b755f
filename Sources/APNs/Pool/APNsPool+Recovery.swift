import Core

/// What the pool tries by itself after APNs refused a provider token, before the owner hears of it.
///
/// A token may be replaced, and a connection may: it is bound to the team, the key and the bundle IDs that it was first
/// given. Each is tried once for a request and uncounted, for a refused request was not processed. Many requests are in
/// flight when a token or a connection goes bad, and all of them come back: the token is replaced once per generation,
/// and connections that were there at the first refusal are all as good as one.
///
/// Sources: "Establishing a token-based connection to APNs"; "Handling notification responses from APNs".
extension APNsPool {
    /// What was tried for one request already.
    struct Recovery {
        var hadNewToken = false
        var hadOlderToken = false
        var hadFreshConnection = false
    }

    /// A fresh connection has refused a provider token too: what was sent on older ones needs no more of them.
    struct Verdict {
        let refusal: TokenRefusal
        let serial: UInt32
    }

    /// What refused provider tokens have taught about connections.
    struct Refusals {
        /// The first connection that counts as fresh after a refusal.
        var freshSerial: UInt32 = 0
        /// Until a provider token is taken again.
        var verdict: Verdict?
    }

    /// - Returns: Whether the request goes out again; otherwise its answer is the owner's.
    func recover(_ handle: Handle, from refusal: TokenRefusal, on connection: PoolConnection, at now: Moment) -> Bool {
        guard let tokens else {
            retire(connection, at: now.instant)
            return false
        }
        let entry = entry(handle)
        switch refusal {
        case .expired:
            if resendsWithNewToken(handle, tokens, at: now) { return true }
            if abandon(connection, at: now.instant) { events.append(.alarm(.clockSkew)) }
        case .tooManyUpdates:
            if resendsWithOlderToken(handle, tokens, at: now) { return true }
            if abandon(connection, at: now.instant) {
                events.append(.alarm(.tooManyTokenUpdates(keepsOlder: false)))
            }
        case .invalid:
            // A fresh connection gets a fresh token as well, if one may be signed.
            _ = tokens.expired(generation: entry.tokenGeneration, at: now)
            abandon(connection, at: now.instant)
        case .unrelatedKey:
            abandon(connection, at: now.instant)
        case .missing:
            if abandon(connection, at: now.instant) { events.append(.alarm(.missingToken)) }
        case .environment:
            // No connection to this endpoint will ever take this key.
            abandon(connection, at: now.instant)
            return false
        }
        return resendsOnFreshConnection(handle, refusal, connection)
    }

    private func resendsWithNewToken(_ handle: Handle, _ tokens: ProviderTokenSource, at now: Moment) -> Bool {
        let entry = entry(handle)
        guard !isDraining, !entry.recovery.hadNewToken,
            tokens.expired(generation: entry.tokenGeneration, at: now)
        else { return false }
        entry.recovery.hadNewToken = true
        counters[.renewals] += 1
        lineUpAgain(handle)
        return true
    }

    private func resendsWithOlderToken(_ handle: Handle, _ tokens: ProviderTokenSource, at now: Moment) -> Bool {
        let entry = entry(handle)
        guard !isDraining, !entry.recovery.hadOlderToken else { return false }
        switch tokens.refusedAsUpdate(generation: entry.tokenGeneration, at: now) {
        case .none: return false
        case .older: events.append(.alarm(.tooManyTokenUpdates(keepsOlder: true)))
        case .inUse: break
        }
        entry.recovery.hadOlderToken = true
        counters[.renewals] += 1
        lineUpAgain(handle)
        return true
    }

    private func resendsOnFreshConnection(
        _ handle: Handle, _ refusal: TokenRefusal, _ connection: PoolConnection
    ) -> Bool {
        let entry = entry(handle)
        guard !isDraining else { return false }
        if let verdict = refusals.verdict, verdict.refusal == refusal, connection.serial < verdict.serial {
            return false
        }
        guard !entry.recovery.hadFreshConnection else {
            refusals.verdict = Verdict(refusal: refusal, serial: connection.serial)
            return false
        }
        entry.recovery.hadFreshConnection = true
        counters[.rebinds] += 1
        waiting.rebinding.append(handle)
        return true
    }

    /// Nothing more is sent on a connection whose provider token was refused.
    ///
    /// - Returns: Whether this is news: no connection that was there at the same time was abandoned before it.
    @discardableResult
    private func abandon(_ connection: PoolConnection, at now: Instant) -> Bool {
        if !connection.isRefused { counters[.replaced] += 1 }
        connection.isRefused = true
        retire(connection, at: now)
        guard connection.serial >= refusals.freshSerial else { return false }
        wantFreshConnection()
        return true
    }

    /// From now on no connection counts as fresh that was given a request. One that was not is as good as a new one,
    /// and where connects are rare there may be no other for long.
    func wantFreshConnection() {
        guard let newest = connections.last(where: \.isBound) else { return }
        refusals.freshSerial = max(refusals.freshSerial, newest.serial + 1)
    }

    /// A probe was answered. Where it is accepted the older connections are bound to less; where it is not, its own is
    /// of no more use than they are.
    func probeEnded(on connection: PoolConnection, _ rule: ReplyRule, at now: Instant) {
        let others = connections.filter { $0 !== connection && $0.isReady }
        if rule.proof >= .topic {
            for other in others where other.serial < connection.serial { retire(other, at: now) }
        } else if rule.action.pause == .topic, !others.isEmpty {
            retire(connection, at: now)
        }
    }

    /// Whether a request waits for a fresh connection, and none is there or on its way.
    var needsFreshConnection: Bool {
        guard !waiting.rebinding.isEmpty else { return false }
        return !connections.contains {
            $0.serial >= refusals.freshSerial && $0.isUsable
        }
    }

    /// Makes room for a fresh connection where the upper bound leaves none.
    ///
    /// - Returns: Whether there was one to retire.
    func retireOldest(at now: Instant) -> Bool {
        guard let oldest = connections.first(where: \.isReady) else { return false }
        retire(oldest, at: now)
        return true
    }
}

extension APNsPool.Alarm: CustomStringConvertible {
    /// A sentence for a person.
    package var description: String {
        switch self {
        case .clockSkew:
            "APNs calls a provider token expired that was just signed: check this machine's clock"
        case .tooManyTokenUpdates(let keepsOlder):
            "APNs sees too many new provider tokens: another process signs with the same key"
                + (keepsOlder ? "; the token before is sent instead" : "")
        case .unreachable(let failures):
            "\(failures) connects to APNs in a row have failed: attempts become rare until one succeeds"
        case .reachable: "APNs can be reached again"
        case .streamsCut(let from, let to):
            "APNs cut a connection from \(from) streams to \(to): too much is refused, or it is overloaded"
        case .missingToken: "APNs misses the provider token of a request that had one: this is a defect"
        case .serverErrors: "APNs answers nothing but InternalServerError on a connection: another one is opened"
        case .silent: "APNs answers no request on a connection that is alive: another one is opened"
        }
    }
}
