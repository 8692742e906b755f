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

        /// Why it has no connection, and for how long.
        fileprivate var outage: String?

        /// Why none of its notifications can be sent, in one sentence; `nil` if they can.
        package var problem: String? {
            let app = "\(name.topic) (\(name.environment.rawValue))"
            if let pause = refusal { return "\(app) is paused: \(pause.explanation)" }
            return connections > 0 ? nil : "\(app) has no connection to APNs\(outage ?? "")"
        }

        /// The pause of all its notifications to devices.
        fileprivate var refusal: Pause? {
            pauses.first { $0.topic == name.topic && $0.isForDevices }
        }

        fileprivate var runbook: Runbook { refusal?.runbook ?? .noConnection }

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
        package var runbook = Runbook.appPaused
        package let explanation: String
        package let seconds: Int64
        package var held: Int
    }

    /// What an operator has to mend.
    package struct Problem: Sendable, Equatable {
        /// One sentence.
        package let text: String
        package let runbook: Runbook
        /// Whether the process is not ready because of it.
        package let isMissing: Bool
    }

    /// The sections of the runbook, each named like its alert.
    package enum Runbook: String, CaseIterable, Sendable {
        case workerStuck = "HarebellWorkerStuck"
        case down = "HarebellDown"
        case notConsuming = "HarebellNotConsuming"
        case notPublishing = "HarebellNotPublishing"
        case brokerBlocked = "HarebellBrokerBlocked"
        case queueRefuses = "HarebellQueueRefuses"
        case queueMissing = "HarebellQueueMissing"
        case decoderDown = "HarebellDecoderDown"
        case reloadFailed = "HarebellReloadFailed"
        case credentialRefused = "HarebellCredentialRefused"
        case appPaused = "HarebellAppPaused"
        case noConnection = "HarebellNoConnection"
    }

    package struct Queue: Sendable, Equatable {
        package let name: String
        /// The number of worker threads that consume from it.
        package var consumers = 0
    }

    package let workers: Int
    package private(set) var queues: [Queue] = []
    package private(set) var apps: [App] = []
    package private(set) var publishing = 0
    package private(set) var isBlocked = false
    package private(set) var problems: [Problem] = []

    /// How long a queue may refuse publishes, or a decoder restart, before it is a problem: queues refuse some during
    /// a leader change.
    package static let patience = Duration.seconds(10)

    package init(_ processSnapshot: ProcessSnapshot) {
        workers = processSnapshot.workers.count
        for worker in processSnapshot.workers {
            guard let snapshot = worker.snapshot, !worker.hasEnded else { continue }
            add(snapshot)
        }
        findProblems(processSnapshot)
    }

    private mutating func add(_ snapshot: WorkerSnapshot) {
        publishing += snapshot.isPublisherOpen ? 1 : 0
        isBlocked = isBlocked || snapshot.blocked != nil
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
            if let outage = app.outage { apps[index].outage = outage.text(at: snapshot.takenAt.instant) }
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
                    runbook: paused.cause.runbook, explanation: paused.explanation, seconds: seconds,
                    held: paused.held))
        }
    }

    private mutating func note(_ text: String, _ runbook: Runbook, isMissing: Bool = true) {
        let problem = Problem(text: text, runbook: runbook, isMissing: isMissing)
        if !problems.contains(problem) { problems.append(problem) }
    }

    private mutating func findProblems(_ seen: ProcessSnapshot) {
        for (index, worker) in seen.workers.enumerated() {
            if worker.hasEnded { note("worker \(index) has ended", .down) }
            if !worker.isAlive { note("worker \(index) does not respond", .workerStuck) }
        }
        let snapshots = seen.snapshots
        if snapshots.count < workers { note("not every worker has started", .down) }
        let isDraining = snapshots.contains(where: \.isDraining)
        if isDraining {
            note("draining", .down)
        } else {
            findConsuming(snapshots)
        }
        // Connections that a drain has closed are not missing.
        if !isDraining || snapshots.contains(where: { $0.counters.unsettled > 0 }) { findSending(seen, snapshots) }
        if let failure = seen.reloadFailure {
            note("the configuration was not reloaded: \(failure)", .reloadFailed, isMissing: false)
        }
    }

    private mutating func findConsuming(_ snapshots: [WorkerSnapshot]) {
        let outage = [BrokerPurpose.consuming, .inquiring].lazy.map { Self.outage($0, snapshots) }.first { !$0.isEmpty }
        // A worker that stands still, because no app can send, takes probes only.
        let consuming = workers - snapshots.count(where: \.isSuspended)
        for queue in queues where queue.consumers < consuming {
            note(
                "queue \(queue.name) is consumed by \(queue.consumers) of \(workers) workers\(outage ?? "")",
                .notConsuming)
        }
        var decoders: Set<String> = []
        for snapshot in snapshots {
            let now = snapshot.takenAt.instant
            for process in snapshot.processes where !decoders.contains(process.name) {
                guard let outage = process.outage, now - outage.since > Self.patience else { continue }
                decoders.insert(process.name)
                let queues = process.queues.joined(separator: ", ")
                note("the decoder \(process.name) of \(queues) does not work\(outage.text(at: now))", .decoderDown)
            }
        }
    }

    /// The first worker's outage of a broker connection; empty if there is none.
    private static func outage(_ purpose: BrokerPurpose, _ snapshots: [WorkerSnapshot]) -> String {
        snapshots.compactMap { $0.outages[purpose]?.text(at: $0.takenAt.instant) }.first ?? ""
    }

    private mutating func findSending(_ seen: ProcessSnapshot, _ snapshots: [WorkerSnapshot]) {
        if publishing < workers {
            let outage = Self.outage(.publishing, snapshots)
            note("the publishing connection of \(workers - publishing) workers is not open\(outage)", .notPublishing)
        }
        if let reason = snapshots.compactMap(\.blocked).first {
            note("the broker blocks publishing" + (reason.isEmpty ? "" : ": \(reason)"), .brokerBlocked)
        }
        for snapshot in snapshots {
            for destination in snapshot.troubled {
                if destination.isMissing {
                    note("no queue receives what is published to \(destination.name)", .queueMissing)
                } else if snapshot.takenAt.instant - destination.since > Self.patience {
                    note("\(destination.name) \(destination.problem)", .queueRefuses)
                }
            }
        }
        let isMissing = seen.needsEveryApp || !apps.contains(where: \.isUsable)
        // An app with another topic is usable, but a worker that stands still takes probes only.
        let isStill = snapshots.allSatisfy(\.isSuspended)
        for app in apps {
            if let problem = app.problem { note(problem, app.runbook, isMissing: isMissing) }
            for pause in app.pauses where pause != app.refusal {
                let name = "\(pause.topic) (\(app.name.environment.rawValue))"
                note(
                    "\(pause.isForDevices ? "\(name) is" : "channels of \(name) are") paused: \(pause.explanation)",
                    pause.runbook, isMissing: isStill && pause.isForDevices)
            }
        }
    }

    /// Why the process is not ready, one sentence each; empty if it is.
    package var missing: [String] { problems.filter(\.isMissing).map(\.text) }

    package var isReady: Bool { missing.isEmpty }
}

extension Health {
    var problemsJSON: JSONOutput {
        .array(
            problems.map { .object([("text", .text($0.text)), ("runbook", .text($0.runbook.rawValue))]) })
    }

    /// The content of `/readyz`.
    package var json: [UInt8] {
        let queues = queues.map { queue in
            JSONOutput.object([("name", .text(queue.name)), ("consumers", .integer(queue.consumers))])
        }
        let json = JSONOutput.object([
            ("ready", .boolean(isReady)), ("missing", .array(missing.map { .text($0) })),
            ("problems", problemsJSON),
            ("workers", .integer(workers)), ("publishing", .integer(publishing)), ("blocked", .boolean(isBlocked)),
            ("queues", .array(queues)), ("apps", .array(apps.map { .object($0.members) })),
        ])
        return Array("\(json)\n".utf8)
    }
}

extension Health.App {
    var members: [(String, JSONOutput)] {
        [
            ("topic", .text(name.topic)), ("environment", .text(name.environment.rawValue)),
            ("usable", .boolean(isUsable)), ("problem", .optional(problem)), ("connections", .integer(connections)),
            ("authenticated", .integer(authenticated)), ("paused", .array(pauses.map(\.json))),
        ]
    }
}

extension Health.Pause {
    fileprivate var json: JSONOutput {
        .object([
            ("topic", .text(topic)), ("cause", .text(cause)), ("explanation", .text(explanation)),
            ("seconds", .integer(Int(seconds))),
            ("held", .integer(held)),
        ])
    }
}

extension LaneGate.Cause {
    fileprivate var runbook: Health.Runbook {
        if case .credential = self { .credentialRefused } else { .appPaused }
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

extension Outage {
    /// ` since 14 s: cannot connect to …`
    fileprivate func text(at now: Instant) -> String {
        " since \((now - since).components.seconds) s: \(cause)"
    }
}
