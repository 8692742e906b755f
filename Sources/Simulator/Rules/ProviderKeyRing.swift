package import Core
import TLS

/// The signing keys that the simulator knows, ready for verification.
package struct ProviderKeyRing {
    struct Entry {
        let key: ProviderKey
        let verifier: VerifyingKey?
        let issuedAt: Instant
        let revokedAt: Instant

        /// Empty for all of the team.
        var topics: [[UInt8]] { key.topics.map { Array($0.utf8) } }
    }

    private var entries: [String: Entry] = [:]

    /// - Parameter start: the origin of the keys' times.
    package init(_ keys: [ProviderKey], startedAt start: Instant = Instant(nanoseconds: 0)) throws(Complaint) {
        for key in keys {
            let verifier: VerifyingKey?
            do {
                verifier = try key.publicKeyPEM.map { pem throws(TLSError) in try VerifyingKey(publicKeyPEM: pem) }
            } catch {
                throw Complaint("the key \(key.keyID) cannot be read: \(error)")
            }
            entries[key.keyID] = Entry(
                key: key, verifier: verifier, issuedAt: start + key.issuedAfter,
                revokedAt: key.revokedAfter.map { start + $0 } ?? .distantFuture)
        }
    }

    /// - Throws: if the key is unknown, not issued yet, revoked, or belongs to another team.
    func entry(for token: PresentedToken, at now: Instant) throws(SimulatedResponse) -> Entry {
        if let entry = entries[token.keyID] {
            func defect(_ words: String) -> SimulatedResponse {
                PresentedToken.invalid("the key \(quoted(token.keyID.utf8)) \(words)")
            }
            guard entry.key.teamID == token.teamID else {
                throw defect("is not of the team \(quoted(token.teamID.utf8))")
            }
            guard entry.issuedAt <= now else { throw defect("is not issued yet") }
            guard now < entry.revokedAt else { throw defect("is revoked") }
            return entry
        }
        guard entries.isEmpty else {
            throw PresentedToken.invalid("kid \(quoted(token.keyID.utf8)) is not a known key")
        }
        return Entry(
            key: ProviderKey(keyID: token.keyID, teamID: token.teamID), verifier: nil, issuedAt: now,
            revokedAt: .distantFuture)
    }
}
