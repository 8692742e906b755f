import AMQP
import Core
import Simulator
import TestSupport

@testable import Bridge

/// Holds a simulation to the laws: what it sees at the broker and at APNs against what it knows of the requests.
final class Checker {
    /// What became of one request.
    private struct Fate {
        var request: SimulatedRequest
        var deliveries = 0
        var acknowledgements = 0
        /// Confirmed results by message id: their outcomes.
        var results: [String: Set<String>] = [:]
        var copies = 0
        var deadLetters = 0
        var feedback: Set<String> = []
    }

    private static let failures: Set<String> = ["rejected", "invalid", "undelivered"]

    private(set) var complaints: [String] = []
    private(set) var trace: [String] = []
    private var fates: [String: Fate] = [:]
    private let world: World
    private var published = 0
    private var acknowledged = 0

    init(_ world: World) {
        self.world = world
        world.broker.observe = { [unowned self] in observed($0) }
    }

    func note(_ line: @autoclosure () -> String) {
        trace.append("\(milliseconds) \(line())")
    }

    func complain(_ what: String) {
        guard complaints.count < 5 else { return }
        complaints.append("at \(milliseconds): \(what)")
        note("!!! \(what)")
    }

    private var milliseconds: String {
        "\(world.network.now.nanoseconds / 1_000_000) ms"
    }

    func publish(_ request: SimulatedRequest) throws {
        fates[request.name] = Fate(request: request)
        published += 1
        note("publish \(request.name) \(request.kind)")
        try world.broker.put(request.body, properties: request.properties, into: "push.requests")
    }

    // MARK: At every step

    /// - Parameter mayHold: how many deliveries the worker may hold.
    func step(mayHold limit: Int) {
        if let worker = world.worker, worker.counters.unsettled > limit {
            complain("the worker holds \(worker.counters.unsettled) deliveries, \(limit) are allowed")
        }
        let broken = world.broker.violations.filter { $0 != "missed heartbeats" }
        if !broken.isEmpty { complain("the protocol was broken: \(broken)") }
    }

    /// Every request is settled, or its queue has it, or a connection.
    func conserved() {
        let queued = world.broker.messages(in: "push.requests").count
        let held = world.broker.unsettledCount
        if queued + held + acknowledged != published {
            complain("\(queued) queued + \(held) held + \(acknowledged) settled are not \(published) published")
        }
    }

    private func observed(_ observation: Broker.Observation) {
        switch observation {
        case .delivered(let message, _):
            note("deliver \(name(message))\(message.redelivered ? " again" : "")")
            fates[name(message)]?.deliveries += 1
        case .returned(let message, _): note("take back \(name(message))")
        case .acknowledged(let message, _): settled(name(message))
        case .confirmed(let message): confirmed(message)
        }
    }

    private func name(_ message: Broker.Message) -> String {
        message.decodedProperties?.correlationID.map { String(decoding: $0, as: UTF8.self) } ?? "?"
    }

    private func confirmed(_ message: Broker.Message) {
        let name = name(message)
        let queue = String(decoding: message.routingKey, as: UTF8.self)
        guard fates[name] != nil, let properties = message.decodedProperties else {
            return complain("a publish to \(queue) belongs to no request")
        }
        let id = properties.messageID.map { String(decoding: $0, as: UTF8.self) } ?? ""
        var outcome = "?"
        if case .text(let text)? = properties.headers?["harebell-outcome"] {
            outcome = String(decoding: text, as: UTF8.self)
        }
        note("confirm \(name) \(outcome) in \(queue)")
        if fates[name]?.acknowledgements ?? 0 > 0, world.workers == 1 {
            complain("\(name) was settled before its publish to \(queue) was confirmed")
        }
        switch queue {
        case "push.dead": fates[name]?.deadLetters += 1
        case "push.feedback": fates[name]?.feedback.insert(id)
        default:
            fates[name]?.copies += 1
            fates[name]?.results[id, default: []].insert(outcome)
        }
    }

    private func settled(_ name: String) {
        note("settle \(name)")
        acknowledged += 1
        guard let fate = fates[name] else { return complain("what was settled is no request: \(name)") }
        fates[name]?.acknowledgements += 1
        if fate.acknowledgements > 0 { complain("\(name) was settled twice") }
        if fate.results.count < fate.request.results, fate.deadLetters == 0 {
            complain("\(name) was settled with \(fate.results.count) of \(fate.request.results) results confirmed")
        }
        // A notification has several outcomes only where one process died between its result and its dead letter.
        let hasFailed = fate.results.values.contains { $0.isSubset(of: Self.failures) }
        if hasFailed, fate.deadLetters == 0 {
            complain("\(name) was settled as \(fate.results.values) without a dead letter")
        }
        for (id, outcomes) in fate.results where outcomes.contains("unregistered") && !fate.feedback.contains(id) {
            complain("\(name) was settled without feedback about a dead device token")
        }
    }

    // MARK: At the end

    struct Expectations {
        /// Whether APNs, or the way to it, had trouble.
        var apnsTrouble: Bool
        var publisherTrouble: Bool
        /// Whether a queue was missing for a while.
        var missingQueues: Bool
    }

    func end(_ expectations: Expectations) {
        for fate in fates.values.sorted(by: { $0.request.number < $1.request.number }) { judge(fate, expectations) }
        judgeIDs()
        judgeRepetitions()
        judgePermits()
        judgeChannels()
        for failure in world.ledger.failures { complain("APNs' side failed: \(failure)") }
    }

    private func judge(_ fate: Fate, _ expectations: Expectations) {
        let request = fate.request
        if fate.acknowledgements != 1 { complain("\(request.name) was settled \(fate.acknowledgements) times") }
        if fate.results.count > request.results {
            complain("\(request.name) has \(fate.results.count) results for \(request.results) notifications")
        }
        let isFirstProcess = world.workers == 1
        if isFirstProcess, !expectations.publisherTrouble, fate.copies > request.results {
            complain("\(request.name) has \(fate.copies) results instead of \(request.results)")
        }
        for (id, outcomes) in fate.results where outcomes.count > 1 && isFirstProcess {
            complain("notification \(id) of \(request.name) has several outcomes: \(outcomes)")
        }
        guard !expectations.apnsTrouble, !expectations.missingQueues else { return }
        let found = fate.results.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let expected = (0..<request.results).reduce(into: Set<String>()) { $0.formUnion(request.outcomes(of: $1)) }
        if found.isEmpty || !found.isSubset(of: expected) {
            complain("\(request.name) ended as \(found.sorted()), expected \(expected.sorted())")
        }
        if expected.isDisjoint(with: Self.failures), fate.deadLetters > 0 {
            complain("\(request.name) ended well and has a dead letter")
        }
    }

    /// What APNs saw of notifications to devices.
    private var notifications: [SimulatorLedger.Record] {
        world.ledger.records.filter { !$0.deviceToken.isEmpty }
    }

    /// An `apns-id` belongs to one notification, for ever.
    private func judgeIDs() {
        var ids: [ArraySlice<UInt8>: NotificationID] = [:]
        var owners: [NotificationID: ArraySlice<UInt8>] = [:]
        for record in notifications {
            if let id = ids.updateValue(record.apnsID, forKey: record.deviceToken), id != record.apnsID {
                complain("one notification was sent as \(id) and as \(record.apnsID)")
            }
            if let owner = owners.updateValue(record.deviceToken, forKey: record.apnsID), owner != record.deviceToken {
                complain("two notifications were sent as \(record.apnsID)")
            }
        }
    }

    /// What APNs answered for good comes again only where the answer did not arrive.
    private func judgeRepetitions() {
        guard world.workers == 1, let worker = world.worker else { return }
        var answers: [ArraySlice<UInt8>: Int] = [:]
        for record in notifications {
            guard case .answered(let status, reason: _) = record.ending else { continue }
            if [200, 400, 410].contains(status) { answers[record.deviceToken, default: 0] += 1 }
        }
        let repetitions = answers.values.reduce(0) { $0 + $1 - 1 }
        if repetitions > worker.counters.uncertain {
            complain("\(repetitions) answers were repeated, \(worker.counters.uncertain) tries were uncertain")
            for record in notifications where answers[record.deviceToken, default: 0] > 1 {
                let token = String(decoding: record.deviceToken, as: UTF8.self)
                note(
                    "\(record.receivedAt.nanoseconds / 1_000_000) ms \(token) on \(record.connection): \(record.ending)"
                )
            }
        }
    }

    /// A request makes one channel at most, whatever happens, and one that says so has made it.
    private func judgeChannels() {
        let channels = world.channels.channels(of: Array("com.example.app".utf8)[...]).count
        let creations = fates.values.filter { $0.request.kind == .channel }
        let accepted = creations.count { $0.results.values.contains { $0.contains("accepted") } }
        if !(accepted...creations.count).contains(channels) {
            complain("\(channels) channels came of \(creations.count) requests, \(accepted) of them accepted")
        }
    }

    /// No connection got more than its token bucket holds; all bytes take the same time.
    private func judgePermits() {
        let limits = world.configuration.apns
        // Connections are numbered anew with each script.
        let connections = Dictionary(grouping: world.ledger.records) { record in
            record.receivedAt >= world.scriptSetAt ? -record.connection : record.connection
        }
        for (connection, records) in connections {
            var level = Double(limits.burst)
            var last: Instant?
            for record in records.sorted(by: { $0.receivedAt < $1.receivedAt }) {
                if let last {
                    let refill = (record.receivedAt - last).inSeconds * Double(limits.permitsPerSecond)
                    level = min(Double(limits.burst), level + refill)
                }
                last = record.receivedAt
                level -= 1
                if level < -0.001 { return complain("connection \(connection) got more requests than permits") }
            }
        }
    }
}
