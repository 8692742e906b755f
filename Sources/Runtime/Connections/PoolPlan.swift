package import Configuration
import Core
import TLS

/// How many connections a pool has, and what each of them may do.
package struct PoolLimits: Equatable, Sendable {
    let connections: ClosedRange<Int>
    let permitsPerSecond: Int
    let burst: Int
    let requestTimeout: Duration
    let pingIdle: Duration
    let connectTimeout: Duration
    let stallLimit: Duration
    let connectsPerMinute: Int
    let surplusTime: Duration
    let deviceSpacing: Duration
    let slowsOnErrors: Bool

    package init(_ apns: Configuration.APNs) {
        connections = apns.connections
        permitsPerSecond = apns.permitsPerSecond
        burst = apns.burst
        requestTimeout = apns.requestTimeout
        pingIdle = apns.pingIdle
        connectTimeout = apns.connectTimeout
        stallLimit = apns.stallLimit
        connectsPerMinute = apns.connectsPerMinute
        surplusTime = apns.surplusTime
        deviceSpacing = apns.deviceSpacing
        slowsOnErrors = apns.slowsOnErrors
    }
}

/// A pool as a configuration asks for it, with what tells whether one that runs already will do.
package struct PoolPlan: Sendable {
    package let identity: PoolIdentity
    package let limits: PoolLimits
    /// Of the credential and the certificates to trust: the content of their files and not their names.
    private let digest: [UInt8]
    /// The bundle IDs of the apps that use it; empty with a certificate, which has its own list.
    ///
    /// APNs binds a connection to a team "and its bundle IDs at that time". Source: "Establishing a token-based
    /// connection to APNs".
    private var bundleIDs: Set<String>

    init(_ app: Configuration.App, for purpose: PoolIdentity.Purpose, _ limits: PoolLimits, digest: [UInt8]) {
        identity = PoolIdentity(app, for: purpose)
        self.limits = limits
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
