import Core
import DequeModule

/// Decoded requests that are not started yet, by app. A few large fan-outs fill a worker, and must not delay the
/// requests of other apps.
struct StartBacklog {
    typealias Start = (decoded: Request, request: InFlightRequest)

    private var starts: [AppID: Deque<Start>] = [:]

    var apps: Dictionary<AppID, Deque<Start>>.Keys { starts.keys }
    var isEmpty: Bool { starts.isEmpty }
    var requests: [InFlightRequest] { starts.values.flatMap { $0.map(\.request) } }

    mutating func append(_ start: Start, of app: AppID) {
        starts[app, default: []].append(start)
    }

    mutating func popFirst(of app: AppID) -> Start? {
        let first = starts[app]?.popFirst()
        if starts[app]?.isEmpty == true { starts[app] = nil }
        return first
    }

    mutating func removeAll(of app: AppID) -> [Start] {
        Array(starts.removeValue(forKey: app) ?? [])
    }

    /// Removes the requests that the broker redelivers.
    mutating func removeOrphans() -> [InFlightRequest] {
        let orphans = requests.filter(\.isOrphan)
        for app in apps {
            starts[app]?.removeAll { $0.request.isOrphan }
            if starts[app]?.isEmpty == true { starts[app] = nil }
        }
        return orphans
    }
}

extension RequestPipeline {
    /// Beyond this number of notifications, besides those in closed lanes, only apps with less than a tenth of it start
    /// further requests.
    static let maximumStarted = 2000
    private static let shareOfStarted = 10

    /// Whether a request waits because its app has enough notifications in the worker.
    mutating func waitsToStart(_ decoded: Request, _ request: InFlightRequest) -> Bool {
        guard isFull || !backlog.isEmpty, let first = decoded.notifications.first,
            case .success(let match) = waiting.table.resolve(first),
            backlog.apps.contains(match.app) || !mayStart(match.app)
        else { return false }
        backlog.append((decoded, request), of: match.app)
        return true
    }

    private var isFull: Bool { notifications.count - waiting.count >= max(Self.maximumStarted, 2 * settings.prefetch) }

    /// Notifications in closed lanes have a separate limit.
    private func mayStart(_ app: AppID) -> Bool {
        guard isFull else { return true }
        let app = waiting.table.apps[app.index]
        return app.inFlight < Self.maximumStarted / Self.shareOfStarted
            || !app.lanes.allSatisfy(\.gate.isOpen) || !waiting.isOpen(.pool(app.pools.notifications))
    }

    @inline(__always)
    var startsFromBacklog: Bool { !backlog.isEmpty && backlog.apps.contains { mayStart($0) } }

    /// Starts requests whose apps have room, one of each app at a time.
    mutating func startFromBacklog(at now: Moment) {
        guard !backlog.isEmpty else { return }
        for app in backlog.apps.sorted() where mayStart(app) {
            if let start = backlog.popFirst(of: app) { begin(start.decoded, of: start.request, at: now) }
        }
    }
}
