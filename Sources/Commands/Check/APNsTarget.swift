import Configuration
import Core
import Runtime

/// A service of APNs that the apps of a configuration need or may use. Apps that share it share one check.
struct APNsTarget {
    /// The first app that needs it; the check uses its credential.
    let app: Configuration.App
    let identity: PoolPlan
    /// The topics of all apps that need it.
    fileprivate(set) var topics: [String]

    /// All targets of a configuration, in its order.
    static func all(_ configuration: Configuration) -> [APNsTarget] {
        var targets: [APNsTarget] = []
        for app in configuration.apps {
            // Broadcasts go where notifications go.
            for managesChannels in [false, true] {
                let plan = PoolPlan(app, configuration.apns, managesChannels: managesChannels)
                let target = APNsTarget(app: app, identity: plan, topics: [app.topic])
                if let index = targets.firstIndex(where: { $0.covers(target) }) {
                    if !targets[index].topics.contains(app.topic) { targets[index].topics.append(app.topic) }
                } else {
                    targets.append(target)
                }
            }
        }
        return targets
    }

    var endpoint: Endpoint { identity.endpoint }

    private func covers(_ other: APNsTarget) -> Bool {
        let isSameWay =
            endpoint == other.endpoint && identity.proxy == other.identity.proxy
            && identity.caFile == other.identity.caFile && isOptional == other.isOptional
        // Only channel management requests carry a provider token; a certificate is presented on every connection.
        guard isOptional || !sendsProviderToken || !other.sendsProviderToken else { return isSameWay }
        return isSameWay && identity.credential == other.identity.credential
            && identity.environment == other.identity.environment
    }

    private var sendsProviderToken: Bool {
        if case .token = identity.credential { true } else { false }
    }

    /// Whether only channel management needs it, and notifications do not.
    var isOptional: Bool { identity.managesChannels }

    /// Whether its responses prove that APNs accepts the app's provider token. Other requests have side effects.
    var judgesToken: Bool { isOptional && sendsProviderToken }

    var text: String {
        let names = topics.prefix(3).joined(separator: ", ") + (topics.count > 3 ? " and \(topics.count - 3) more" : "")
        return "\(isOptional ? "channels" : "notifications") of \(names)"
    }
}
