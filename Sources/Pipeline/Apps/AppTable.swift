import Configuration
package import Core
package import TLS

/// One configured app in a worker: its name, its pools and its waiting.
package struct PipelineApp {
    /// The configured topic: the app's bundle ID, or the UID of an MDM certificate.
    package let topic: [UInt8]
    package let environment: Environment
    package let pools: Pools
    package var lanes = Array(repeating: Lane(), count: Lane.count)
    /// The full topic for each push type, by its raw value.
    package let topics: [ArraySlice<UInt8>]
    /// Why a push type cannot be sent for the app, by its raw value.
    let refusals: [String?]
    /// Whether the app's certificate names exactly one topic, the default for requests without a topic.
    let hasOneTopic: Bool
    /// Its notifications in this worker.
    var inFlight = 0
    /// Whether the app was removed from the configuration; notifications in flight may still refer to it.
    package var isRemoved = false

    /// The pools of an app by purpose; they may be the same pool.
    package struct Pools: Equatable {
        /// Broadcasts included.
        package let notifications: PoolID
        package let management: PoolID

        package init(notifications: PoolID, management: PoolID) {
            self.notifications = notifications
            self.management = management
        }

        package var all: [PoolID] {
            [notifications, management]
        }

        package func map(_ change: (PoolID) -> PoolID) -> Pools {
            Pools(notifications: change(notifications), management: change(management))
        }

        package func pool(for target: Notification.Target) -> PoolID {
            switch target {
            case .device, .channel: notifications
            case .management: management
            }
        }
    }

    /// - Parameter certificate: replaces a signing key.
    package init(topic: String, environment: Environment, pools: Pools, certificate: Certificate? = nil) {
        self.topic = Array(topic.utf8)
        self.environment = environment
        self.pools = pools
        let full = PushType.allCases.map { type in
            certificate?.topic(of: type, bundleID: topic) ?? topic + type.rules.topicSuffix.description
        }
        topics = full.map { ArraySlice($0.utf8) }
        refusals = zip(PushType.allCases, full).map { type, full in
            certificate?.refusal(of: type, bundleID: topic) ?? Self.refusal(of: type, topic: full)
        }
        hasOneTopic = certificate?.pushTopics.count == 1
    }

    private static func refusal(of type: PushType, topic: String) -> String? {
        let prefix = type.rules.topicPrefix.description
        guard !topic.hasPrefix(prefix) else { return nil }
        return "apns-push-type: the topic of \(type) is the UID of an MDM certificate and starts with \"\(prefix)\", "
            + "\"\(topic)\" does not"
    }

    package var name: AppName { AppName(String(decoding: topic, as: UTF8.self), environment) }

    /// The topic of a lane; the bundle ID for broadcasts and channels.
    package func topic(ofLane lane: LaneID) -> String {
        String(decoding: topics.indices.contains(lane.index) ? topics[lane.index] : topic[...], as: UTF8.self)
    }

    /// Whether both are the same app, regardless of the credential.
    package func isSame(_ other: PipelineApp) -> Bool {
        topic == other.topic && environment == other.environment
    }

    /// Replaces the description of the app, but keeps its current state.
    package mutating func change(to other: PipelineApp) {
        precondition(isSame(other), "an app must keep its name")
        let (lanes, inFlight) = (lanes, inFlight)
        self = other
        self.lanes = lanes
        self.inFlight = inFlight
    }
}

/// Finds the app and the full topic of a notification.
package struct AppTable {
    /// By ``AppID``, removed ones included.
    package var apps: [PipelineApp]
    var all: [AppID] { apps.indices.map(AppID.init) }
    /// The apps that are configured, in the configuration's order.
    package var configured: [AppID] {
        didSet { makeIndex() }
    }
    /// The configured apps by each of their topics, in the configuration's order: there may be a thousand of them.
    private var slots: [ArraySlice<UInt8>: [AppID]] = [:]

    package init(_ apps: [PipelineApp]) {
        self.apps = apps
        configured = apps.indices.map(AppID.init)
        makeIndex()
    }

    private mutating func makeIndex() {
        slots.removeAll(keepingCapacity: true)
        for slot in configured {
            for name in Set(apps[slot.index].topics + [apps[slot.index].topic[...]]) {
                slots[name, default: []].append(slot)
            }
        }
    }

    /// Changes the configuration of an app that keeps its name.
    package mutating func change(_ slot: AppID, to app: PipelineApp) {
        let hasOtherTopics = apps[slot.index].topics != app.topics
        apps[slot.index].change(to: app)
        if hasOtherTopics { makeIndex() }
    }

    /// Up to this number of apps, a linear search is faster than hashing the topic.
    private static let linearSearchLimit = 4

    /// The apps that a topic may belong to. Does not allocate.
    func candidates(for topic: ArraySlice<UInt8>) -> [AppID] {
        configured.count <= Self.linearSearchLimit ? configured : slots[topic] ?? []
    }

    package struct Match {
        package let app: AppID
        package let environment: Environment
        /// The value for `apns-topic`; the bundle ID for broadcasts and channels.
        package let topic: ArraySlice<UInt8>
    }

    /// A bundle ID gets the suffix of the push type; a full topic is used unchanged. A name that is one app's full
    /// topic and another's bundle ID counts as the full topic. Broadcasts and channels always use the bundle ID.
    ///
    /// The failure is not a ``DecodingFailure``, which is large to copy.
    package func resolve(_ notification: borrowing Notification) -> Result<Match, Complaint> {
        let type = notification.content.pushType
        let environment = notification.content.environment
        guard let topic = notification.content.topic else {
            guard let app = unnamed(environment) else {
                return .failure(Complaint(Self.missingTopic))
            }
            return match(app: app, notification)
        }
        var topicIsKnown = false
        var named: AppID?
        let candidates = candidates(for: topic)
        for index in candidates {
            let isFull = topic.elementsEqual(apps[index.index].topics[Int(type.rawValue)])
            guard isFull || topic.elementsEqual(apps[index.index].topic) else { continue }
            topicIsKnown = true
            if let environment, environment != apps[index.index].environment { continue }
            if isFull { return match(app: index, notification) }
            if named == nil { named = index }
        }
        if let named { return match(app: named, notification) }
        let name = String(decoding: topic, as: UTF8.self)
        if topicIsKnown, let environment {
            return .failure(Complaint("environment: no app \"\(name)\" is configured for \(environment.rawValue)"))
        }
        if let app = candidates.first(where: { apps[$0.index].topics.contains { topic.elementsEqual($0) } }) {
            let expected = String(decoding: apps[app.index].topics[Int(type.rawValue)], as: UTF8.self)
            let contradiction = "contradicts apns-push-type \(type), whose topic is \"\(expected)\""
            return .failure(Complaint("apns-topic: \"\(name)\" \(contradiction)"))
        }
        return .failure(Complaint(unknown(topic)))
    }

    /// The failure, preceded by an error of the topic that holds for every push type.
    package func checked(_ failure: DecodingFailure) -> DecodingFailure {
        guard let known = failure.known, let other = complaint(about: known) else { return failure }
        var failure = failure
        failure.detail = "\(other); \(failure.detail)"
        return failure
    }

    private func complaint(about known: DecodingFailure.Known) -> String? {
        guard let topic = known.topic else {
            return known.lacksTopic && unnamed(known.environment) == nil ? Self.missingTopic : nil
        }
        let isKnown = candidates(for: topic).contains { app in
            (apps[app.index].topics + [apps[app.index].topic[...]]).contains { topic.elementsEqual($0) }
        }
        return isKnown ? nil : unknown(topic)
    }

    private static let missingTopic = "apns-topic: missing, and more than one app is configured"

    private func unknown(_ topic: ArraySlice<UInt8>) -> String {
        let name = String(decoding: topic, as: UTF8.self)
        let topics = configured.map { String(decoding: apps[$0.index].topic, as: UTF8.self) }
        let hint = Suggestion.question(Suggestion.closest(to: name, among: topics)).map { "; \($0)" } ?? ""
        return "apns-topic: no app \"\(name)\" is configured\(hint)"
    }

    /// The app of a request that names no topic: the only one, or the one whose certificate names one topic.
    private func unnamed(_ environment: Environment?) -> AppID? {
        guard configured.count > 1 else { return configured.first }
        var found: AppID?
        for app in configured where apps[app.index].hasOneTopic {
            if let environment, environment != apps[app.index].environment { continue }
            guard let other = found else {
                found = app
                continue
            }
            guard apps[other.index].topic == apps[app.index].topic else { return nil }
        }
        return found
    }

    /// The topic of a request that names none.
    package func unnamedTopic(in environment: Environment?) -> String? {
        unnamed(environment).map { String(decoding: apps[$0.index].topic, as: UTF8.self) }
    }

    private func match(app: AppID, _ notification: borrowing Notification) -> Result<Match, Complaint> {
        if let environment = notification.content.environment, environment != apps[app.index].environment {
            return .failure(Complaint("environment: no app is configured for \(environment.rawValue)"))
        }
        if case .device = notification.target,
            let refusal = apps[app.index].refusals[Int(notification.content.pushType.rawValue)]
        {
            return .failure(Complaint(refusal))
        }
        let topic =
            notification.target.namesBundleID
            ? apps[app.index].topic[...] : apps[app.index].topics[Int(notification.content.pushType.rawValue)]
        return .success(Match(app: app, environment: apps[app.index].environment, topic: topic))
    }
}
