package import Core
import TLS

/// The signing keys that the simulator knows, ready for verification.
package final class ProviderKeyRing {
    struct Entry {
        let teamID: [UInt8]
        let verifier: VerifyingKey?
        let environment: Environment?
        let topics: [[UInt8]]
        let relatedKeyID: [UInt8]?
        let issuedAt: Instant
        let revokedAt: Instant
    }

    private var entries: [[UInt8]: Entry] = [:]
    private let fallback: VerifyingKey?

    /// - Parameters:
    ///   - publicKeyPEM: for tokens with a key ID that is not in `keys`, for any team.
    ///   - start: the origin of the keys' times.
    package init(
        _ keys: [ProviderKey], publicKeyPEM: String? = nil, startedAt start: Instant = Instant(nanoseconds: 0)
    ) throws(SimulatorError) {
        fallback = try Self.verifier(publicKeyPEM, "the public key")
        for key in keys {
            entries[Array(key.keyID.utf8)] = Entry(
                teamID: Array(key.teamID.utf8), verifier: try Self.verifier(key.publicKeyPEM, "the key \(key.keyID)"),
                environment: key.environment, topics: key.topics.map { Array($0.utf8) },
                relatedKeyID: key.relatedKeyID.map { Array($0.utf8) },
                issuedAt: key.issuedAfter.map { start + $0 } ?? start,
                revokedAt: key.revokedAfter.map { start + $0 } ?? .distantFuture)
        }
    }

    private static func verifier(_ pem: String?, _ name: String) throws(SimulatorError) -> VerifyingKey? {
        guard let pem else { return nil }
        do {
            return try VerifyingKey(publicKeyPEM: pem)
        } catch {
            throw SimulatorError(.credential, "\(name) cannot be read", underlying: error)
        }
    }

    /// The entry for the key of a token.
    ///
    /// - Throws: if the key is unknown, not issued yet, revoked, or belongs to another team.
    func entry(for token: PresentedToken, at now: Instant) throws(SimulatedResponse) -> Entry {
        if let entry = entries[token.keyID] {
            func defect(_ words: String) -> SimulatedResponse {
                PresentedToken.invalid("the key \(quoted(token.keyID)) \(words)")
            }
            guard entry.teamID == token.teamID else { throw defect("is not of the team \(quoted(token.teamID))") }
            guard entry.issuedAt <= now else { throw defect("is not issued yet") }
            guard now < entry.revokedAt else { throw defect("is revoked") }
            return entry
        }
        guard fallback != nil || entries.isEmpty else {
            throw PresentedToken.invalid("kid \(quoted(token.keyID)) is not a known key")
        }
        return Entry(
            teamID: token.teamID, verifier: fallback, environment: nil, topics: [], relatedKeyID: nil, issuedAt: now,
            revokedAt: .distantFuture)
    }
}
