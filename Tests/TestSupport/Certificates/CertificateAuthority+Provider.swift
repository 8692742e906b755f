package import Core
package import TLS

extension CertificateAuthority {
    /// Issues a provider certificate as Apple does, with a new key.
    ///
    /// - Parameters:
    ///   - bundleID: the subject's user ID; for an MDM certificate its topic.
    ///   - topics: the listed topics; empty by default, as in one for MDM.
    ///   - environments: its environments; both by default: Apple calls that universal.
    package func issueProvider(
        bundleID: String, topics: [ProviderExtensions.Topic] = [],
        environments: Set<Environment> = [.production, .development], validFrom: WallTime? = nil,
        validUntil: WallTime? = nil
    ) -> (certificatePEM: String, privateKeyPEM: String) {
        issue(
            validFrom: validFrom, validUntil: validUntil, usage: .client,
            commonName: "Apple Push Services: \(bundleID)", subjectUID: bundleID,
            extensions: ProviderExtensions(topics: topics, environments: environments).encoded)
    }
}
