import AMQP
import APNs
import Core
import SimulatedWorld
import Simulator
import TestSupport

@testable import Configuration
@testable import Monitoring
@testable import Pipeline
@testable import Runtime

/// Checks the invariants of a simulation: the events at the broker and at APNs against the known requests.
final class Checker {
    /// The state of one request.
    private struct Fate {
        var request: SimulatedRequest
        var deliveries = 0
        var acknowledgements = 0
        /// Confirmed results by message id: their outcomes.
        var results: [String: Set<String>] = [:]
        var copies = 0
        var deadLetters = 0
        /// Copies in retry queues, and those of them with a confirm.
        var parked = 0
        var parkedConfirmed = 0
        /// The parking numbers of the copies, and the latest attempt count.
        var parkings: Set<Int> = []
        /// The messages that exist at once, besides one, and each may be sent.
        var duplicates = 0
        /// The parking numbers of redelivered messages whose copy exists already.
        var revived: Set<Int> = []
        var attempts = 0
        var feedback: Set<String> = []
        var takenBackAt: Instant?
        /// It was redelivered without a message id: it may have been sent before.
        var isForgotten = false

        /// Whether the request itself and all of its copies are settled.
        var isOver: Bool { acknowledgements > parked }
        /// Whether each parking left one copy. If the first one's confirm was lost there are two, and each ends
        /// separately.
        var isParkedOnce: Bool { parked == parkings.count }
    }

    private static let failures: Set<String> = ["rejected", "invalid", "undelivered"]

    private(set) var complaints: [String] = []
    private(set) var trace: [String] = []
    private var fates: [String: Fate] = [:]
    private let world: World
    /// Requests, and their parked copies.
    private var published = 0
    private var acknowledged = 0
    /// The request of each device token.
    private var owners: [String: String] = [:]
    /// The number of responses that may be repeated: those that the workers did not receive, or that died with a
    /// worker.
    private var permitted = 0
    private var hasLostProcess = false
    /// Whether queues refused or ignored publishes for so long that results may have taken their next way: into dead
    /// letters with their requests.
    var mayDivertResults = false
    /// Whether a queue without a majority may confirm a publish whose result went elsewhere in the meantime.
    var mayConfirmLate = false
    /// Since when requests of closed lanes hold the prefetch.
    private var blockedSince: Instant?
    private static let longestBlock = Duration.seconds(30)
    private let limits: Limits
    private let maximumAttempts: Int
    private let isPerRequest: Bool
    private let pace: Configuration.RateLimit?
    /// The limits of each connection and worker.
    struct Limits {
        var permitsPerSecond: Int
        var burst: Int
        /// Of one pool.
        var connectsPerMinute = 30
        /// The longest wait of a notification for its app, with one attempt in between that waits equally long for a
        /// connection, or twice as long if the pool had one meanwhile, for another notification.
        var hold: Duration

        init(_ configuration: Configuration) {
            permitsPerSecond = configuration.apns.permitsPerSecond
            burst = configuration.apns.burst
            hold = configuration.hold * 3 + configuration.apns.requestTimeout
        }
    }

    init(_ world: World, limits: Limits? = nil) {
        self.world = world
        self.limits = limits ?? Limits(world.configuration)
        maximumAttempts = world.configuration.retry.maximumAttempts
        isPerRequest = world.configuration.results.per == .request
        pace = world.configuration.queues[0].rateLimit
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
        for token in request.deviceTokens { owners[token] = request.name }
        note("publish \(request.name) \(request.kind)")
        try world.broker.put(request.body, properties: request.properties, into: "push.requests")
    }

    // MARK: At every step

    /// - Parameter mayHold: the number of deliveries that the worker may hold.
    func step(mayHold limit: Int) {
        if let worker = world.worker, worker.counters.unsettled > limit {
            complain("the worker holds \(worker.counters.unsettled) deliveries, \(limit) are allowed")
        }
        if let worker = world.worker, worker.worker.drain.stage == .running,
            let since = worker.worker.pipeline.oldestHeld, world.network.now - since > limits.hold
        {
            complain("a notification has waited for its app for \(world.network.now - since)")
        }
        let broken = world.broker.violations.filter { $0 != "missed heartbeats" }
        if !broken.isEmpty { complain("the protocol was broken: \(broken)") }
    }

    /// While an app can send, those that cannot do not hold the whole prefetch of their queue for long.
    func serves() {
        guard let worker = world.worker, worker.worker.drain.stage == .running, !worker.isSuspended,
            worker.worker.pipeline.canAnySend, !world.broker.messages(in: "push.requests").isEmpty,
            worker.worker.pipeline.requestsInLanes >= Int(world.configuration.queues[0].prefetch)
        else {
            blockedSince = nil
            return
        }
        let since = blockedSince ?? world.network.now
        blockedSince = since
        if world.network.now - since > Self.longestBlock {
            complain("a closed app has held up the others for \(world.network.now - since)")
        }
    }

    /// Every request is settled, queued, or held by a connection.
    func conserved() {
        let queued = world.broker.messages(in: "push.requests").count + world.parked.count
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
            permitForgotten(message)
        case .returned(let message, _):
            note("take back \(name(message))")
            fates[name(message)]?.takenBackAt = world.network.now
        case .acknowledged(let message, _): settled(name(message))
        case .enqueued(let message, let queue) where queue.contains(".retry."): parked(message, in: queue)
        case .enqueued: break
        case .confirmed(let message): confirmed(message)
        }
    }

    /// A worker does not recognise a redelivery after its memory has expired, nor an acknowledged one without a message
    /// id.
    private func permitForgotten(_ message: Broker.Message) {
        let name = name(message)
        guard message.redelivered, let fate = fates[name], let takenBackAt = fate.takenBackAt else { return }
        let isNamed = message.decodedProperties?.messageID != nil
        guard !isNamed || world.network.now - takenBackAt >= CompletedRequests.memory else { return }
        fates[name]?.isForgotten = !isNamed
        // Its acknowledgement was lost after it was parked: both it and its copy are sent.
        let parkings = Self.parkings(of: message)
        if fate.parkings.contains(where: { $0 > parkings }), fates[name]?.revived.insert(parkings).inserted == true {
            permitDuplicates(fate.duplicates + 1, of: name)
        }
        let responses = responses
        permitted += fate.request.deviceTokens.count { responses[$0] != nil }
    }

    private static func parkings(of message: Broker.Message) -> Int {
        guard case .int32(let parkings)? = message.decodedProperties?.headers?["harebell-parked"] else { return 0 }
        return Int(parkings)
    }

    private func name(_ message: Broker.Message) -> String {
        let properties = message.decodedProperties
        if let id = properties?.correlationID { return String(decoding: id, as: UTF8.self) }
        if case .text(let token)? = properties?.headers?["device-token"] {
            return owners[String(decoding: token, as: UTF8.self)] ?? "?"
        }
        return String(decoding: message.body, as: UTF8.self).member("device-token").flatMap { owners[$0] } ?? "?"
    }

    private func confirmed(_ message: Broker.Message) {
        let name = name(message)
        let queue = String(decoding: message.routingKey, as: UTF8.self)
        guard fates[name] != nil else { return complain("a publish to \(queue) belongs to no request") }
        let result = World.Published(message)
        let id = result.messageID ?? ""
        let outcome = result.outcome ?? "?"
        note("confirm \(name) \(outcome) in \(queue)")
        if queue.contains(".retry.") {
            fates[name]?.parkedConfirmed += 1
            return
        }
        // Feedback that is not confirmed is given up after a while.
        let isGivenUp = queue == "push.feedback" && mayDivertResults
        if fates[name]?.isOver == true, world.workers == 1, !mayConfirmLate, !isGivenUp {
            complain("\(name) was settled before its publish to \(queue) was confirmed")
        }
        switch queue {
        case "push.dead": fates[name]?.deadLetters += 1
        case "push.feedback": fates[name]?.feedback.insert(id)
        default:
            guard result.body.first == "[" || isPerRequest else {
                fates[name]?.copies += 1
                fates[name]?.results[id, default: []].insert(outcome)
                return judgeCertainty(name, result.body)
            }
            confirmed(together: result.body, of: name)
        }
    }

    /// The results of a request in one message: an array in the order of the fan-out.
    private func confirmed(together body: String, of name: String) {
        guard isPerRequest, body.first == "[", body.last == "]", let request = fates[name]?.request else {
            return complain("\(name) has results in the wrong form")
        }
        var last = -1
        let elements = body.dropFirst(2).dropLast().split(separator: ",{\"apns-id\"").enumerated()
        for element in elements.map({ $0 == 0 ? String($1) : "\"apns-id\"\($1)" }) {
            let position = Self.position(of: element, in: request)
            guard let id = element.member("apns-id"), let outcome = element.member("outcome"), position > last else {
                return complain("\(name) has results out of order, or incomplete ones: \(body)")
            }
            last = position
            fates[name]?.copies += 1
            let key = request.results > 1 ? "\(id)-\(position)" : id
            fates[name]?.results[key, default: []].insert(outcome)
            judgeCertainty(name, element)
        }
    }

    private static func position(of element: String, in request: SimulatedRequest) -> Int {
        request.deviceTokens.indices.first { index in
            element.contains("\"\(request.deviceTokens[index])\"") || element.contains("device-tokens[\(index)]")
        } ?? 0
    }

    /// A notification reported as "not processed" was never accepted. One that was delivered twice may have been, by a
    /// worker that is gone.
    private func judgeCertainty(_ name: String, _ body: String) {
        guard body.contains(#""processed":"no""#), let fate = fates[name], fate.deliveries == 1, fate.parked == 0
        else { return }
        guard let token = fate.request.deviceTokens.first(where: { body.contains("\"\($0)\"") }) else { return }
        if notifications.contains(where: { $0.deviceToken.elementsEqual(token.utf8) && Self.isFinal($0.ending) }) {
            complain("\(name) says that it was not processed, and APNs has answered it")
        }
    }

    /// A copy of a request waits for its next round.
    private func parked(_ message: Broker.Message, in queue: String) {
        let name = name(message)
        note("park \(name) in \(queue)")
        guard let fate = fates[name], let headers = message.decodedProperties?.headers,
            case .int32(let attempts)? = headers["harebell-attempts"], Self.parkings(of: message) > 0
        else { return complain("what is parked is no copy of a request") }
        published += 1
        fates[name]?.parked += 1
        if attempts >= maximumAttempts {
            complain("\(name) is parked after \(attempts) of \(maximumAttempts) attempts")
        }
        if fates[name]?.parkings.insert(Self.parkings(of: message)).inserted == false {
            // The first one's arrival was uncertain: both are sent.
            permitDuplicates(fate.duplicates + 1, of: name)
        } else if Int(attempts) < fate.attempts, fate.isParkedOnce {
            complain("\(name) is parked after \(attempts) attempts, and had \(fate.attempts) before")
        }
        fates[name]?.attempts = max(fate.attempts, Int(attempts))
        judgeLeft(name, headers)
    }

    private func permitDuplicates(_ count: Int, of name: String) {
        guard let fate = fates[name], count > fate.duplicates else { return }
        permitted += (count - fate.duplicates) * fate.request.deviceTokens.count
        fates[name]?.duplicates = count
    }

    /// A notification that is to be sent again has no result, unless the request exists twice: as two copies of one
    /// parking, this one included, or because its acknowledgement was lost and it has no message id.
    private func judgeLeft(_ name: String, _ headers: FieldTable) {
        guard let fate = fates[name] else { return }
        let count = fate.request.results
        var done: DoneBitmap?
        if case .text(let text)? = headers["harebell-done"] {
            done = DoneBitmap(text[...], notifications: count)
            if done == nil { return complain("\(name) is parked with a bitmap that does not fit") }
        }
        let ended = fate.results.keys.filter { id in
            guard count > 1 else { return true }
            guard let position = id.split(separator: "-").last.flatMap({ Int($0) }) else { return false }
            return done?.contains(position) != true
        }
        if !ended.isEmpty, fate.isParkedOnce, !fate.isForgotten, world.workers == 1 {
            complain("\(name) is parked with notifications that have a result: \(ended)")
        }
    }

    private func settled(_ name: String) {
        note("settle \(name)")
        acknowledged += 1
        guard let fate = fates[name] else { return complain("what was settled is no request: \(name)") }
        fates[name]?.acknowledgements += 1
        if fate.isOver { complain("\(name) was settled twice") }
        // All notifications without a result are in a copy that the broker confirmed. The other of two equal copies
        // counts as well: a worker takes one for a redelivery of the other.
        if fate.acknowledgements < (fate.isParkedOnce ? fate.parkedConfirmed : fate.parked) { return }
        if fate.results.count < fate.request.results, fate.deadLetters == 0 {
            complain("\(name) was settled with \(fate.results.count) of \(fate.request.results) results confirmed")
        }
        // A process that died may have left a result without what follows from it; the next one's may differ.
        let hasFailed = fate.results.values.contains { $0.isSubset(of: Self.failures) }
        if hasFailed, fate.deadLetters == 0 {
            complain("\(name) was settled as \(fate.results.values) without a dead letter")
        }
        for (id, outcomes) in fate.results where outcomes.contains("unregistered") && !fate.feedback.contains(id) {
            if mayDivertResults || outcomes.count > 1 && hasLostProcess { continue }
            complain("\(name) was settled without feedback about a dead device token")
        }
    }

    /// The processes are about to be killed: requests that APNs has answered and the broker still holds are sent again,
    /// and so are those whose copies wait already.
    func processEnds() {
        judgeWorkers()
        hasLostProcess = true
        for (name, fate) in fates { permitDuplicates(fate.parked - fate.acknowledgements, of: name) }
        for (token, count) in responses where fates[owners[token] ?? ""]?.isOver == false { permitted += min(count, 1) }
    }

    // MARK: At the end

    struct Expectations {
        /// Whether APNs, or its network, had faults.
        var apnsTrouble: Bool
        var publisherTrouble: Bool
        /// Whether a queue was missing for a while.
        var missingQueues: Bool
        /// Whether requests may arrive at APNs later than they were permitted.
        var requestsAreHeldUp: Bool
        /// Whether the workers' clock was right all the time.
        var clockIsRight = true
    }

    func end(_ expectations: Expectations) {
        for fate in fates.values.sorted(by: { $0.request.number < $1.request.number }) { judge(fate, expectations) }
        judgeWorkers()
        judgeIDs()
        judgeRepetitions()
        if !expectations.requestsAreHeldUp { judgePermits() }
        judgeConnects()
        judgeChannels()
        if expectations.clockIsRight { judgeTimes() }
        for failure in world.ledger.failures { complain("APNs' side failed: \(failure)") }
    }

    private func judge(_ fate: Fate, _ expectations: Expectations) {
        let request = fate.request
        if fate.acknowledgements != 1 + fate.parked {
            complain("\(request.name) was settled \(fate.acknowledgements) times, and parked \(fate.parked) times")
        }
        if fate.results.count > request.results {
            complain("\(request.name) has \(fate.results.count) results for \(request.results) notifications")
        }
        let isFirstProcess = world.workers == 1
        if isFirstProcess, !expectations.publisherTrouble, fate.copies > request.results {
            complain("\(request.name) has \(fate.copies) results instead of \(request.results)")
        }
        for (id, outcomes) in fate.results
        where outcomes.count > 1 && isFirstProcess && !fate.isForgotten && fate.isParkedOnce {
            complain("notification \(id) of \(request.name) has several outcomes: \(outcomes)")
        }
        guard !expectations.apnsTrouble, !expectations.missingQueues else { return }
        let found = fate.results.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        let expected = (0..<request.results).reduce(into: Set<String>()) { $0.formUnion(request.outcomes(of: $1)) }
        let isDiverted = mayDivertResults && fate.deadLetters > 0
        if found.isEmpty && !isDiverted || !found.isSubset(of: expected) {
            complain("\(request.name) ended as \(found.sorted()), expected \(expected.sorted())")
        }
        if expected.isDisjoint(with: Self.failures), fate.deadLetters > 0, !isDiverted {
            complain("\(request.name) ended well and has a dead letter")
        }
    }

    /// APNs's records of notifications to devices.
    private var notifications: [SimulatorLedger.Record] {
        world.ledger.records.filter { !$0.deviceToken.isEmpty }
    }

    /// An `apns-id` belongs permanently to one notification.
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

    private static func isFinal(_ ending: SimulatorLedger.Ending) -> Bool {
        guard case .responded(let status, reason: _) = ending else { return false }
        return [200, 400, 410].contains(status)
    }

    /// The number of final responses of APNs, by device token.
    private var responses: [String: Int] {
        var responses: [String: Int] = [:]
        for record in notifications where Self.isFinal(record.ending) {
            responses[String(decoding: record.deviceToken, as: UTF8.self), default: 0] += 1
        }
        return responses
    }

    /// A final response is repeated only if it did not arrive, died with a process, or blames the environment of an app
    /// that a reload changed in the meantime.
    private func judgeRepetitions() {
        let responses = responses
        let repetitions = responses.values.reduce(0) { $0 + $1 - 1 }
        let doubts = notifications.filter { $0.ending == .responded(400, reason: "BadDeviceToken") }
        for records in Dictionary(grouping: doubts, by: \.deviceToken).values {
            permitted += min(records.count - 1, world.reloads)
        }
        guard repetitions > permitted else { return }
        complain("\(repetitions) answers were repeated, \(permitted) may be")
        for record in notifications {
            let token = String(decoding: record.deviceToken, as: UTF8.self)
            guard responses[token, default: 0] > 1 else { continue }
            note("\(record.receivedAt.nanoseconds / 1_000_000) ms \(token) on \(record.connection): \(record.ending)")
        }
    }

    /// The counters of the running workers, each counted once.
    private func judgeWorkers() {
        for worker in world.running {
            permitted += Int(worker.counters[.uncertain])
            judgePace(of: worker)
            for pool in worker.worker.pools.roster.numbers {
                let goaways = worker.worker.pools[pool].statistics(at: world.network.now).counters.goaways.keys
                let errors = Self.protocolErrors.intersection(goaways)
                if !errors.isEmpty { complain("APNs' side found HTTP/2 broken: \(errors.sorted())") }
            }
        }
    }

    /// No worker has passed more to its pools than its queue's rate limit permits.
    private func judgePace(of worker: RunningWorker) {
        guard let pace else { return }
        let submitted = worker.worker.pools.roster.numbers.reduce(0) { sum, pool in
            sum + worker.worker.pools[pool].statistics(at: world.network.now).counters[.submitted]
        }
        let elapsed = (world.network.now - World.start.instant).inSeconds
        if Double(submitted) > Double(pace.burst) + Double(pace.perSecond) * elapsed {
            complain("\(submitted) notifications were sent in \(elapsed) s, at \(pace)")
        }
    }

    /// HTTP/2 errors for exceeded stream or window limits, among others; no script uses them.
    private static let protocolErrors: Set<String> = [
        "PROTOCOL_ERROR", "FLOW_CONTROL_ERROR", "STREAM_CLOSED", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR",
    ]

    /// No minute has more connects than the pools of a worker may make.
    private func judgeConnects() {
        guard let pools = world.worker?.worker.pools.roster.count else { return }
        // A pool that replaces another one at a reload has a separate limit.
        let most = limits.connectsPerMinute * pools * (1 + world.reloads)
        for reachability in world.outlooks {
            let times = reachability.connects
            for index in times.indices.dropFirst(most) where times[index] - times[index - most] < .seconds(60) {
                return complain("\(most + 1) connects within \(times[index] - times[index - most])")
            }
        }
    }

    /// A request creates at most one channel, as does each copy that the broker has twice because it held back the
    /// first one's confirm; an accepted creation has created it.
    private func judgeChannels() {
        let channels = world.channels.channels(of: Array("com.example.app".utf8)[...]).count
        let creations = fates.values.filter { $0.request.kind == .channel }
        let accepted = creations.count { $0.results.values.contains { $0.contains("accepted") } }
        let most = creations.reduce(0) { $0 + 1 + $1.duplicates }
        if !(accepted...most).contains(channels) {
            complain("\(channels) channels came of \(creations.count) requests, \(accepted) of them accepted")
        }
    }

    /// Nothing is sent before its time.
    private func judgeTimes() {
        for record in notifications {
            let token = String(decoding: record.deviceToken, as: UTF8.self)
            guard let notBefore = owners[token].flatMap({ fates[$0]?.request.notBefore }) else { continue }
            let elapsed = record.receivedAt - World.start.instant
            if elapsed < .seconds(notBefore) - .milliseconds(World.start.wall.milliseconds) {
                complain("\(token) was sent before its time")
            }
        }
    }

    /// No connection got more than its token bucket holds; all bytes have the same latency.
    private func judgePermits() {
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

extension String {
    /// The text of a member of a JSON object that is written without spaces.
    fileprivate func member(_ name: String) -> String? {
        guard let start = firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
        return String(self[start...].prefix { $0 != "\"" })
    }
}

extension RequestPipeline {
    /// Whether APNs refuses nothing of an app.
    var canAnySend: Bool {
        configured.contains { id in app(in: id).lanes.allSatisfy(\.gate.isOpen) }
    }

    /// The number of requests that hold the prefetch because notifications of them wait in closed lanes.
    var requestsInLanes: Int { Set(inLanes.map { ObjectIdentifier($0.request) }).count }

    private var inLanes: [InFlightNotification] {
        notifications.handles.map { notifications[$0] }.filter { if case .lane = $0.place { true } else { false } }
    }

    /// The start of the longest wait for a paused app; `nil` if no notification is held.
    var oldestHeld: Instant? { inLanes.compactMap(\.waitingSince).min() }
}
