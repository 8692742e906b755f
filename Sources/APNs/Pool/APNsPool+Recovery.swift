import Core

/// Recovers from a refused provider token before the owner is involved.
///
/// The pool can renew the token and replace the connection, which is bound to the team, key and bundle IDs of its
/// first request. Each is tried once per request and is not counted as a resend, because APNs did not process the
/// request. When a token or a connection becomes invalid, many in-flight requests are refused. So the token is renewed
/// once per generation, and all connections from before the first refusal are treated alike.
///
/// Sources: "Establishing a token-based connection to APNs"; "Handling notification responses from APNs".
extension APNsPool {
    /// - Returns: Whether the request is sent again; otherwise the owner receives its response.
    mutating func recover(
        _ handle: Handle, from refusal: TokenRefusal, _ response: APNsResponse, on connection: PoolConnection,
        at now: Moment
    ) -> Bool {
        guard let tokens else {
            retire(connection, at: now.instant)
            return false
        }
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
            // A fresh connection also uses a fresh token, if one may be signed.
            _ = tokens.expired(generation: requests[handle].submission.tokenGeneration, at: now)
            abandon(connection, at: now.instant)
        case .unrelatedKey:
            abandon(connection, at: now.instant)
        case .missing:
            if abandon(connection, at: now.instant) { events.append(.alarm(.missingToken)) }
        case .environment:
            // No connection to this endpoint will accept this key.
            abandon(connection, at: now.instant)
            return false
        }
        return resendsOnFreshConnection(
            handle, APNsRequest.Refused(refusal: refusal, serial: connection.serial, response: response))
    }

    private mutating func resendsWithNewToken(_ handle: Handle, _ tokens: ProviderTokenSource, at now: Moment) -> Bool {
        let submission = requests[handle].submission
        guard !isDraining, tokens.expired(generation: submission.tokenGeneration, at: now) else { return false }
        counters[.renewals] += 1
        enqueueAgain(handle)
        return true
    }

    private mutating func resendsWithOlderToken(_ handle: Handle, _ tokens: ProviderTokenSource, at now: Moment) -> Bool
    {
        let submission = requests[handle].submission
        guard !isDraining, !submission.hadOlderToken else { return false }
        switch tokens.refusedAsUpdate(generation: submission.tokenGeneration, at: now) {
        case .none: return false
        case .older: events.append(.alarm(.tooManyTokenUpdates(keepsOlder: true)))
        case .inUse: break
        }
        requests[handle].submission.hadOlderToken = true
        counters[.renewals] += 1
        enqueueAgain(handle)
        return true
    }

    private mutating func resendsOnFreshConnection(_ handle: Handle, _ refused: APNsRequest.Refused) -> Bool {
        guard !isDraining else { return false }
        if let verdict, verdict.refusal == refused.refusal, refused.serial < verdict.serial {
            return false
        }
        guard requests[handle].submission.refused == nil else {
            verdict = (refused.refusal, refused.serial)
            endRefusedAlike(refused)
            return false
        }
        requests[handle].submission.refused = refused
        counters[.rebinds] += 1
        waiting.rebinding.append(handle)
        return true
    }

    /// Ends the other requests with the same refusal that wait for a fresh connection. Apps can share a key; one
    /// connection for each app would delay the last one by minutes.
    private mutating func endRefusedAlike(_ last: APNsRequest.Refused) {
        for handle in requests.handles {
            guard let first = requests[handle].submission.refused, first.refusal == last.refusal,
                first.serial < last.serial, waiting.remove(handle)
            else { continue }
            requests.remove(handle)
            counters[.recoveryLimitHits] += 1
            events.append(.responded(handle: handle, first.response, sentAt: nil))
        }
    }

    /// Stops sending on a connection whose provider token was refused.
    ///
    /// - Returns: Whether it is the first abandoned connection of those that existed at the same time.
    @discardableResult
    private mutating func abandon(_ connection: PoolConnection, at now: Instant) -> Bool {
        retire(connection, at: now)
        guard connection.serial >= freshSerial else { return false }
        wantFreshConnection()
        return true
    }

    /// From now on, only connections without a request so far count as fresh. An unused connection is equivalent to
    /// a new one, and when connects are limited it may be the only one.
    mutating func wantFreshConnection() {
        guard let newest = connections.last(where: \.isBound) else { return }
        freshSerial = max(freshSerial, newest.serial + 1)
    }

    /// A probe was answered. If it was accepted, the older connections have narrower bindings. Otherwise its own
    /// connection is as useless as they are.
    func probeEnded(on connection: PoolConnection, _ rule: ResponseRule, at now: Instant) {
        let others = connections.filter { $0 !== connection && $0.isReady }
        if rule.proof >= .topic {
            for other in others where other.serial < connection.serial { retire(other, at: now) }
        } else if rule.action.pause == .topic, !others.isEmpty {
            retire(connection, at: now)
        }
    }

    /// Whether a request waits for a fresh connection, and none exists or is being dialled.
    var lacksFreshConnection: Bool {
        guard !waiting.rebinding.isEmpty else { return false }
        return !connections.contains { $0.serial >= freshSerial && $0.isUsable }
    }
}

extension APNsPool.Alarm: CustomStringConvertible {
    package var description: String {
        switch self {
        case .clockSkew:
            "APNs reports a new provider token as expired: check this machine's clock"
        case .tooManyTokenUpdates(let keepsOlder):
            "APNs reports too many new provider tokens: another process signs with the same key"
                + (keepsOlder ? "; the previous token is sent instead" : "")
        case .unreachable(let failures):
            "\(failures) consecutive connects to APNs failed: the attempts become less frequent"
        case .reachable: "connected to APNs again"
        case .streamsCut(let from, let to):
            "APNs reduced a connection from \(from) streams to \(to): it refuses too much, or it is overloaded"
        case .missingToken: "APNs reports a missing provider token, but the request had one: please report this defect"
        case .serverErrors: "APNs responds with InternalServerError only: the connection is replaced"
        case .silent: "APNs does not respond on a live connection: the connection is replaced"
        }
    }
}
