import Configuration
import Core
import Proxy
import Runtime

/// A service of APNs that the apps of a configuration need or may use. Apps that share it share one check.
struct APNsTarget {
    enum Purpose: Hashable {
        case notifications, broadcasts
        /// The other one of Apple's two ports.
        case otherPort
        case management
    }

    /// Apple's service listens on both. Source: "Sending notification requests to APNs", "Establish a connection to
    /// APNs".
    private static let ports: [UInt16] = [443, 2197]

    /// The first app that needs it; the check uses its credential.
    let app: Configuration.App
    let identity: PoolIdentity
    let endpoint: Endpoint
    let purpose: Purpose
    /// The topics of all apps that need it.
    fileprivate(set) var topics: [String]

    /// All targets of a configuration, in its order.
    static func all(_ configuration: Configuration) -> [APNsTarget] {
        var targets: [APNsTarget] = []
        for app in configuration.apps {
            for purpose in [Purpose.notifications, .broadcasts, .otherPort, .management] {
                guard let target = APNsTarget(app, for: purpose) else { continue }
                if let index = targets.firstIndex(where: { $0.covers(target) }) {
                    if !targets[index].topics.contains(app.topic) { targets[index].topics.append(app.topic) }
                } else {
                    targets.append(target)
                }
            }
        }
        return targets
    }

    private init?(_ app: Configuration.App, for purpose: Purpose) {
        self.app = app
        self.purpose = purpose
        topics = [app.topic]
        switch purpose {
        case .notifications: identity = PoolIdentity(app, for: .notifications)
        case .broadcasts: identity = PoolIdentity(app, for: .broadcasts)
        case .management: identity = PoolIdentity(app, for: .management)
        case .otherPort:
            identity = PoolIdentity(app, for: .notifications)
            let port = identity.endpoint.port
            guard identity.endpoint.host.hasSuffix(".push.apple.com"), Self.ports.contains(port),
                let other = Self.ports.first(where: { $0 != port })
            else { return nil }
            endpoint = Endpoint(host: identity.endpoint.host, port: other)
            return
        }
        endpoint = identity.endpoint
    }

    /// Whether a check of this target also covers the other one.
    private func covers(_ other: APNsTarget) -> Bool {
        let isSameWay =
            endpoint == other.endpoint && identity.proxy == other.identity.proxy
            && identity.caFile == other.identity.caFile && (purpose == .management) == (other.purpose == .management)
        // Only channel management requests carry a provider token; a certificate is presented on every connection.
        guard purpose == .management || !sendsProviderToken || !other.sendsProviderToken else { return isSameWay }
        return isSameWay && identity.credential == other.identity.credential
            && identity.environment == other.identity.environment
    }

    private var sendsProviderToken: Bool {
        if case .token = identity.credential { true } else { false }
    }

    /// Whether notifications do not need it.
    var isOptional: Bool { purpose == .otherPort || purpose == .management }

    /// Whether its responses prove that APNs accepts the app's provider token. Other requests have side effects.
    var judgesToken: Bool { purpose == .management && sendsProviderToken }

    /// The description for operators.
    var text: String {
        let names = topics.prefix(3).joined(separator: ", ") + (topics.count > 3 ? " and \(topics.count - 3) more" : "")
        return switch purpose {
        case .notifications: "notifications of \(names)"
        case .broadcasts: "broadcasts of \(names)"
        case .otherPort: "the other port, in case a firewall blocks \(identity.endpoint.port)"
        case .management: "channels of \(names)"
        }
    }
}
