package import Configuration
import Core
import TLS

/// A pool as a configuration asks for it, with what tells whether one that runs already will do.
package struct PoolPlan: Sendable {
    package let identity: PoolIdentity
    package let limits: Configuration.APNs
    /// Of the credential and the certificates to trust: the content of their files and not their names.
    private let digest: [UInt8]
    /// The bundle IDs of the apps that use it; empty with a certificate, which has its own list.
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

    /// Whether a pool of this plan can carry what `wanted` is for.
    package func serves(_ wanted: PoolPlan) -> Bool {
        isAlike(wanted) && bundleIDs.isSuperset(of: wanted.bundleIDs)
    }

    /// Whether one pool can be made for both.
    func isAlike(_ other: PoolPlan) -> Bool {
        digest == other.digest && limits == other.limits && identity.endpoint == other.identity.endpoint
            && identity.managesChannels == other.identity.managesChannels
    }

    mutating func include(_ other: PoolPlan) {
        bundleIDs.formUnion(other.bundleIDs)
    }
}

extension Configuration.APNs {
    /// Without what is no pool's: a change of it leaves the pools as they are.
    fileprivate var ofPools: Self {
        var limits = self
        limits.bindAddress = nil
        limits.validate = .off
        limits.badTokenPause = nil
        return limits
    }
}

extension Configuration.App {
    /// SHA-256 over everything that the app's credential and trust consist of.
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
