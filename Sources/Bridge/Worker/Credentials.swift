package import APNs
import Core
package import TLS

/// The signers of provider tokens, one per key, shared by every connection of every worker: Apple refuses a key whose
/// tokens are renewed too often, wherever they are used. Source: "Establishing a token-based connection to APNs".
package struct ProviderTokens: Sendable {
    private struct Key: Hashable {
        let file: String
        let keyID: String
        let teamID: String
    }

    private let sources: [Key: ProviderTokenSource]

    /// Reads every key that the apps name.
    package init(_ apps: [Configuration.App]) throws(TLSError) {
        var sources: [Key: ProviderTokenSource] = [:]
        for app in apps {
            guard case .token(let file, let keyID, let teamID) = app.credential else { continue }
            let key = Key(file: file, keyID: keyID, teamID: teamID)
            guard sources[key] == nil else { continue }
            sources[key] = ProviderTokenSource(key: try SigningKey(file: file), keyID: keyID, teamID: teamID)
        }
        self.sources = sources
    }

    package func source(for credential: Configuration.Credential) -> ProviderTokenSource? {
        guard case .token(let file, let keyID, let teamID) = credential else { return nil }
        return sources[Key(file: file, keyID: keyID, teamID: teamID)]
    }
}
