import Core
import TLS

/// The signing keys that the simulated Apple knows, ready to verify.
package final class ProviderKeyRing {
    struct Entry {
        let teamID: [UInt8]
        let verifier: VerifyingKey?
        let environment: Environment?
        let topics: [[UInt8]]
    }

    private var entries: [[UInt8]: Entry] = [:]
    private let fallback: VerifyingKey?

    /// - Parameter publicKeyPEM: for tokens with a key ID that none of `keys` has, whatever their team.
    package init(_ keys: [ProviderKey], publicKeyPEM: String? = nil) throws(SimulatorError) {
        fallback = try Self.verifier(publicKeyPEM, "the public key")
        for key in keys {
            entries[Array(key.keyID.utf8)] = Entry(
                teamID: Array(key.teamID.utf8), verifier: try Self.verifier(key.publicKeyPEM, "the key \(key.keyID)"),
                environment: key.environment, topics: key.topics.map { Array($0.utf8) })
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

    /// What is known of the key that a token names.
    ///
    /// - Returns: `nil` if Apple would not know the key, or not with this team.
    func entry(for token: ProviderToken) -> Entry? {
        if let entry = entries[token.keyID] { return entry.teamID == token.teamID ? entry : nil }
        guard fallback != nil || entries.isEmpty else { return nil }
        return Entry(teamID: token.teamID, verifier: fallback, environment: nil, topics: [])
    }
}
