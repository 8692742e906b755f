package import APNs
package import Configuration
import Core
package import TLS

/// The signers of provider tokens, one per key, shared by all connections of all workers. Apple refuses a key whose
/// tokens are renewed too often on any connection. Source: "Establishing a token-based connection to APNs".
package struct ProviderTokens: Sendable {
    /// Identifies a key independent of its file.
    private struct Key: Hashable {
        let publicKeyPEM: String
        let keyID: String
        let teamID: String
    }

    private let sources: [Key: ProviderTokenSource]
    /// The keys by credential, which names the key file.
    private let keys: [Configuration.Credential: Key]

    /// Reads the keys of all apps.
    ///
    /// - Parameter previous: its provider tokens stay in use for keys that it also contains.
    package init(_ apps: [Configuration.App], reusing previous: ProviderTokens? = nil) throws(TLSError) {
        var sources: [Key: ProviderTokenSource] = [:]
        var keys: [Configuration.Credential: Key] = [:]
        for app in apps {
            guard case .token(let file, let keyID, let teamID) = app.credential, keys[app.credential] == nil else {
                continue
            }
            let signer = try SigningKey(file: file)
            let key = Key(publicKeyPEM: signer.publicKeyPEM, keyID: keyID, teamID: teamID)
            keys[app.credential] = key
            guard sources[key] == nil else { continue }
            if let source = previous?.sources[key] {
                sources[key] = source
            } else {
                sources[key] = ProviderTokenSource(key: signer, keyID: keyID, teamID: teamID)
            }
        }
        self.sources = sources
        self.keys = keys
    }

    package func source(for credential: Configuration.Credential) -> ProviderTokenSource? {
        keys[credential].flatMap { sources[$0] }
    }
}
