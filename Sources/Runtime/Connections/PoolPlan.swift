package import Configuration
import Core
import TLS

/// A pool of a configuration, and the data to decide whether a running pool can be kept for it.
package struct PoolPlan: Sendable {
    package let identity: PoolIdentity
    package let limits: Configuration.APNs
    /// Of the credential and the trusted certificates: of the files' contents, not their names.
    private let digest: [UInt8]
    /// The bundle IDs of the apps that use it; empty for a certificate, which contains its own list.
    ///
    /// APNs binds a connection to a team "and its bundle IDs at that time". Source: "Establishing a token-based
    /// connection to APNs".
    private var bundleIDs: Set<String>

    init(_ app: Configuration.App, for purpose: PoolIdentity.Purpose, _ limits: Configuration.APNs, digest: [UInt8]) {
        identity = PoolIdentity(app, for: purpose)
        self.limits = limits.ofPools
        self.digest = digest
        if case .token = app.credential { bundleIDs = [app.topic] } else { bundleIDs = [] }
    }

    /// Whether a pool of this plan can serve `wanted`.
    package func serves(_ wanted: PoolPlan) -> Bool {
        isAlike(wanted) && bundleIDs.isSuperset(of: wanted.bundleIDs)
    }

    /// Whether one pool can serve both plans.
    func isAlike(_ other: PoolPlan) -> Bool {
        digest == other.digest && limits == other.limits && identity.endpoint == other.identity.endpoint
            && identity.managesChannels == other.identity.managesChannels
    }

    mutating func include(_ other: PoolPlan) {
        bundleIDs.formUnion(other.bundleIDs)
    }
}

extension Configuration.APNs {
    /// Without the settings that do not concern pools: a change of those keeps the pools.
    fileprivate var ofPools: Self {
        var limits = self
        limits.badTokenPause = nil
        return limits
    }
}

extension Configuration.App {
    /// SHA-256 of the app's credential and its trusted certificates.
    func credentialDigest() throws(TLSError) -> [UInt8] {
        var digests: [[UInt8]] = []
        if let caFile { digests.append(try Digest.sha256(file: caFile)) }
        switch credential {
        case .token(let keyFile, let keyID, let teamID):
            digests += [try Digest.sha256(file: keyFile), Digest.sha256(Array("\(keyID) \(teamID)".utf8))]
        case .certificate(.pem(let certificateFile, let privateKeyFile)):
            digests += [try Digest.sha256(file: certificateFile), try Digest.sha256(file: privateKeyFile)]
        case .certificate(.p12(let file, let password)):
            digests += [try Digest.sha256(file: file), Digest.sha256(Array((password?.reveal() ?? "").utf8))]
        }
        return Digest.sha256(digests.flatMap { $0 })
    }
}
