package import Core
import Decoding
import Pipeline
import Runtime

/// Whether a process is ready, and what is missing otherwise.
package struct Health: Sendable, Equatable {
    package struct App: Sendable, Equatable {
        package let name: AppName
        /// Over all workers.
        package var connections = 0
        package var authenticated = 0
        /// The app's pauses.
        package var pauses: [Pause] = []

        /// Why none of its notifications can be sent, in one sentence; `nil` if they can.
        package var problem: String? {
            let app = "\(name.topic) (\(name.environment.rawValue))"
            if let pause = pauses.first(where: { $0.topic == name.topic && $0.isForDevices }) {
                return "\(app) is paused: \(pause.explanation)"
            }
            return connections > 0 ? nil : "\(app) has no connection to APNs"
        }
        /// Whether its notifications can be sent.
        package var isUsable: Bool {
            problem == nil
        }
    }

    package struct Pause: Sendable, Equatable {
        /// The app's topic if its credential is refused.
        package let topic: String
        /// Whether it affects notifications to devices, not only broadcasts or channels.
        package var isForDevices = true
        package let cause: String
        package let explanation: String
        package let seconds: Int64
        package var held: Int
    }

    package struct Queue: Sendable, Equatable {
        package let name: String
        /// The number of worker threads that consume from it.
        package var consumers = 0
    }

    package private(set) var workers = 0
    package private(set) var queues: [Queue] = []
    package private(set) var apps: [App] = []
    package private(set) var publishing = 0
    package private(set) var isBlocked = false
    /// The queues of the configuration that have not taken publishes for longer than ``refusalPatience``, and why.
    package private(set) var troubled: Set<String> = []
    /// Why the process is not ready, one sentence each; empty if it is.
    package private(set) var missing: [String] = []

    /// How long a queue may refuse publishes before the process is not ready: queues refuse some during a leader
    /// change.
    package static let refusalPatience = Duration.seconds(10)

    package init(_ processSnapshot: ProcessSnapshot) {
        workers = processSnapshot.workers.count
        for worker in processSnapshot.workers {
            guard let snapshot = worker.snapshot, !worker.hasEnded else { continue }
            add(snapshot)
        }
        findMissing(processSnapshot)
    }

    private mutating func add(_ snapshot: WorkerSnapshot) {
        publishing += snapshot.isPublisherOpen ? 1 : 0
        isBlocked = isBlocked || snapshot.isBlocked
        for destination in snapshot.troubled
        where snapshot.takenAt.instant - destination.since > Self.refusalPatience {
            troubled.insert("\(destination.name) \(destination.problem)")
        }
        for queue in snapshot.queues {
            let index = queues.firstIndex { $0.name == queue.name } ?? queues.count
            if index == queues.count { queues.append(Queue(name: queue.name)) }
            if queue.isConsuming { queues[index].consumers += 1 }
        }
        for app in snapshot.apps {
            let index = apps.firstIndex { $0.name == app.name } ?? apps.count
            if index == apps.count { apps.append(App(name: app.name)) }
            apps[index].connections += app.connections
            apps[index].authenticated += app.authenticated
            for paused in snapshot.paused where paused.app == app.name {
                addPause(paused, to: &apps[index], at: snapshot.takenAt.instant)
            }
        }
    }

    /// Workers pause independently, usually for the same cause.
    private func addPause(_ paused: PausedTopic, to app: inout App, at now: Instant) {
        let cause = paused.cause.label
        let known = app.pauses.firstIndex {
            $0.topic == paused.topic && $0.isForDevices == paused.isForDevices && $0.cause == cause
        }
        if let known {
            app.pauses[known].held += paused.held
        } else {
            let seconds = (now - paused.since).components.seconds
            app.pauses.append(
                Pause(
                    topic: paused.topic, isForDevices: paused.isForDevices, cause: cause,
                    explanation: paused.explanation, seconds: seconds, held: paused.held))
        }
    }

    private mutating func findMissing(_ processSnapshot: ProcessSnapshot) {
        for (index, worker) in processSnapshot.workers.enumerated() {
            if worker.hasEnded { missing.append("worker \(index) has ended") }
            if !worker.isAlive { missing.append("worker \(index) does not respond") }
        }
        let snapshots = processSnapshot.snapshots
        if snapshots.count < workers { missing.append("not every worker has started") }
        if snapshots.contains(where: \.isDraining) { missing.append("draining") }
        for queue in queues where queue.consumers < workers {
            missing.append("queue \(queue.name) is consumed by \(queue.consumers) of \(workers) workers")
        }
        if publishing < workers {
            missing.append("the publishing connection of \(workers - publishing) workers is not open")
        }
        missing += troubled.sorted()
        if isBlocked { missing.append("the broker blocks publishing") }
        if processSnapshot.needsEveryApp || !apps.contains(where: \.isUsable) {
            missing += apps.compactMap(\.problem)
        }
    }

    package var isReady: Bool { missing.isEmpty }
}

extension Health {
    /// The content of `/readyz`: one object with `ready`, `missing`, `queues`, `publishing`, `blocked` and `apps`.
    package var json: [UInt8] {
        let queues = queues.map { queue in
            JSONOutput.object([("name", .text(queue.name)), ("consumers", .integer(queue.consumers))])
        }
        let apps = apps.map { app in
            JSONOutput.object([
                ("topic", .text(app.name.topic)), ("environment", .text(app.name.environment.rawValue)),
                ("usable", .boolean(app.isUsable)), ("problem", .optional(app.problem)),
                ("connections", .integer(app.connections)),
                ("authenticated", .integer(app.authenticated)), ("paused", .array(app.pauses.map(\.json))),
            ])
        }
        let text = JSONOutput.text(of: [
            ("ready", .boolean(isReady)), ("missing", .array(missing.map { .text($0) })),
            ("workers", .integer(workers)), ("publishing", .integer(publishing)), ("blocked", .boolean(isBlocked)),
            ("queues", .array(queues)), ("apps", .array(apps)),
        ])
        return Array((text + "\n").utf8)
    }
}

extension Health.Pause {
    var json: JSONOutput {
        .object([
            ("topic", .text(topic)), ("cause", .text(cause)), ("explanation", .text(explanation)),
            ("seconds", .integer(Int(seconds))),
            ("held", .integer(held)),
        ])
    }
}

extension PausedTopic {
    /// The cause as a sentence.
    fileprivate var explanation: String {
        switch cause {
        case .credential: "APNs refuses the credential (\(cause.label))"
        case .topic: "APNs refuses the topic \(topic) (\(cause.label))"
        case .deviceTokens: "\(cause): check the environment"
        case .unreachable: "\(cause)"
        }
    }
}
