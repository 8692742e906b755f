import AMQP
import Core
import Pipeline
import SimulatedWorld
import Simulator
import TestSupport

@testable import Configuration
@testable import Runtime

/// One run of a worker between a faulty broker and a faulty APNs, all of it drawn from one seed.
final class Simulation {
    private enum Step {
        case publish(SimulatedRequest)
        case begin(Disturbance)
        case end(Disturbance)
    }

    let seed: UInt64
    let world: World
    let checker: Checker
    private var random: SplitMix64
    private var steps: [(at: Duration, step: Step)] = []
    private var used: Set<Disturbance> = []
    private let trouble: Trouble
    /// The period in which faults may begin.
    private let span: Duration
    private let hasAPNsTrouble: Bool
    private let hasBrokerTrouble: Bool
    /// The busy periods; between them, little happens.
    private var moments: [ClosedRange<Duration>] = []

    /// The length of a run's busy periods.
    private static let busy = Duration.seconds(30)
    /// The longest duration of a fault. Longer absences of the broker exceed the worker's memory of requests.
    private static let longest = Duration.seconds(240)

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        hasAPNsTrouble = Bool.random(using: &random)
        hasBrokerTrouble = Bool.random(using: &random)
        let isLong = Bool.random(using: &random)
        span = isLong ? .seconds(Int64.random(in: 8...40, using: &random) * 3600) : Self.busy
        trouble = hasAPNsTrouble ? Trouble(span: span, random: &random) : .none
        let prefetch = UInt16.random(in: 1...20, using: &random)
        let permits = Int.random(in: 20...200, using: &random)
        let burst = Int.random(in: 1...20, using: &random)
        let connections = Int.random(in: 1...3, using: &random)
        // A separate generator, so that other random choices stay the same.
        var retries = SplitMix64(seed: seed &+ 1_000_000_007)
        func ladder(_ longest: Int64) -> [Duration] {
            (0..<Int.random(in: 1...3, using: &retries)).map { _ in
                .seconds(Int64.random(in: 1...longest, using: &retries))
            }
        }
        var delays = ladder(120)
        let throttledDelays = ladder(20)
        // A paused app's requests return at the last level throughout the pause. Over days, a delay of seconds would
        // dominate the run; the default is an hour.
        if span > Self.busy { delays[delays.count - 1] = .seconds(900) }
        let attempts = Int.random(in: 1...5, using: &retries)
        let hold = Duration.seconds(Int64.random(in: 20...300, using: &retries))
        var teams = SplitMix64(seed: seed &+ 2_000_000_011)
        let hasPace = Int.random(in: 0..<3, using: &teams) == 0
        let pace = Configuration.RateLimit(
            perSecond: Int.random(in: 2...50, using: &teams), burst: Int.random(in: 1...10, using: &teams))
        let isPerRequest = Int.random(in: 0..<3, using: &teams) == 0
        let script = ([SimulatedRequest.script] + trouble.lines).joined(separator: "\n")
        world = try World(seed: seed, script: script) { configuration in
            // Heartbeats are most of the events in hours.
            if isLong { configuration.broker.heartbeat = .seconds(1200) }
            configuration.queues[0].prefetch = prefetch
            (configuration.apns.permitsPerSecond, configuration.apns.burst) = (permits, burst)
            configuration.apns.connections = 1...connections
            configuration.apns.requestTimeout = .seconds(5)
            configuration.retry.delays = delays
            configuration.retry.throttledDelays = throttledDelays
            configuration.retry.maximumAttempts = attempts
            configuration.hold = hold
            if hasPace { configuration.queues[0].rateLimit = pace }
            if isPerRequest { configuration.results.per = .request }
        }
        if isLong { world.broker.heartbeat = 1200 }
        world.startsSlowly = Bool.random(using: &random)
        checker = Checker(world)
        world.network.latency = .milliseconds(Int.random(in: 0...40, using: &random))
        world.network.largestPiece = [.max, .max, 1000, 37].randomElement(using: &random) ?? .max
        self.random = random
        plan()
    }

    // MARK: The plan

    private var isLong: Bool { span > Self.busy }

    private func plan() {
        moments = isLong ? (0..<Int.random(in: 3...8, using: &random)).map { _ in busyTime() } : [.zero...Self.busy]
        for number in 0..<Int.random(in: 10...40, using: &random) {
            let kind =
                Bool.random(using: &random)
                ? .good : SimulatedRequest.Kind.allCases.randomElement(using: &random) ?? .good
            let at = someTime()
            let request = SimulatedRequest(
                number: number, kind: kind, at: at, usesHeaders: seed % 3 == 0, random: &random)
            steps.append((at, .publish(request)))
        }
        for disturbance in Disturbance.allCases {
            guard disturbance.isAtBroker ? hasBrokerTrouble : hasAPNsTrouble else { continue }
            // It would last until two heartbeats are missed: longer than a worker remembers requests.
            if isLong, disturbance == .freezeBroker { continue }
            for _ in 0..<Int.random(in: 0...3, using: &random) where Bool.random(using: &random) {
                used.insert(disturbance)
                let start = someTime()
                steps.append((start, .begin(disturbance)))
                let length = isLong && Bool.random(using: &random) ? Self.longest : Self.busy
                steps.append((time(within: start...start + length), .end(disturbance)))
            }
        }
        steps.sort { $0.at < $1.at }
    }

    private func busyTime() -> ClosedRange<Duration> {
        let start = time(within: .zero...span)
        return start...start + Self.busy
    }

    private func someTime() -> Duration {
        time(within: moments.randomElement(using: &random) ?? .zero...Self.busy)
    }

    private func time(within range: ClosedRange<Duration>) -> Duration {
        .nanoseconds(Int64.random(in: range.lowerBound.nanoseconds...range.upperBound.nanoseconds, using: &random))
    }

    // MARK: The run

    /// - Returns: The violations; empty if all invariants were kept.
    func run() throws -> [String] {
        for line in trouble.lines { checker.note("APNs: \(line)") }
        let limit = Int(world.configuration.queues[0].prefetch)
        // A connection whose end the broker has not seen, or a cancelled consumer, holds deliveries that count
        // separately.
        let isBounded = used.isDisjoint(with: [.freezeBroker, .cancelConsumers, .kill, .drain]) && !hasSilence
        // The broker does not count an earlier registration's deliveries against the next one.
        // After seven seconds a frozen connection looks like one that the broker stopped because of a queue.
        checker.mayDivertResults = !used.isDisjoint(
            with: [.refusePublishes, .holdConfirms, .freezeBroker, .loseMajority])
        checker.mayConfirmLate = used.contains(.loseMajority)
        let earlier = world.startsSlowly ? 1 + Int(PrefetchRamp.few) : 0
        world.check = { [unowned self] in
            // Nor deliveries from before a standstill.
            let again = (world.worker?.counters[.suspensions] ?? 0) > 0 ? limit : 0
            checker.step(mayHold: isBounded ? limit + earlier + again : 1000)
            // The share of a closed app is at least one request.
            if limit > 1 { checker.serves() }
        }
        setChances(isOn: true)
        try world.start()
        let start = world.network.now
        for (at, step) in steps {
            world.pass(max(start + at - world.network.now, .zero))
            try perform(step)
            world.settle()
            checker.conserved()
            guard checker.complaints.isEmpty else { return checker.complaints }
        }
        world.pass(max(start + span - world.network.now, .zero))
        try heal()
        if !world.pass(atMost: timeLimit, until: { world.isQuiet }) {
            checker.complain("\(timeLimit) after the last fault not everything is finished: \(counters)")
        }
        world.pass(.seconds(1))
        checker.conserved()
        checker.end(
            .init(
                apnsTrouble: hasAPNsTrouble, publisherTrouble: hasBrokerTrouble || hasAPNsTrouble,
                missingQueues: !used.isDisjoint(with: [.loseDeadLetters, .loseResults, .loseRetries]),
                requestsAreHeldUp: trouble.holdsRequestsUp, clockIsRight: !used.contains(.setClock)))
        drain(within: .seconds(10))
        return checker.complaints
    }

    /// The time limit for the remaining requests after the last fault: an hour, and each attempt at the ladder's last
    /// level, twice. A device that APNs cannot serve may take all probes of a paused app until its attempts end; only
    /// then do the others begin.
    private var timeLimit: Duration {
        let retry = world.configuration.retry
        return .seconds(3600) + (retry.delays.max() ?? .zero) * retry.maximumAttempts * 2
    }

    private var counters: String {
        "\(world.broker.messages(in: "push.requests").count) queued, \(world.parked.count) parked, "
            + "\(world.broker.unsettledCount) held by connections, "
            + "\(world.worker.map { "\($0.counters)" } ?? "no worker")"
    }

    private func setChances(isOn: Bool) {
        func chance() -> Double { isOn && Bool.random(using: &random) ? 0.005 : 0 }
        for (endpoint, hasTrouble) in [(World.broker, hasBrokerTrouble), (World.apns, hasAPNsTrouble)] {
            var faults = MemoryNetwork.Faults()
            if hasTrouble {
                faults.cut = chance()
                faults.refusal = chance() * 40
                faults.blackHole = chance() * 20
                faults.silence = isSilent(endpoint) ? chance() / 2 : 0
            }
            world.network.faults[endpoint] = faults
        }
    }

    /// Whether connections may fall silent by chance; excluded for the broker in long runs, like a frozen broker.
    private func isSilent(_ endpoint: Endpoint) -> Bool {
        endpoint == World.apns || !isLong
    }

    private var hasSilence: Bool { hasBrokerTrouble && isSilent(World.broker) }

    private func perform(_ step: Step) throws {
        switch step {
        case .publish(let request): try checker.publish(request)
        case .begin(let disturbance):
            checker.note("begin \(disturbance)")
            try begin(disturbance)
        case .end(let disturbance):
            checker.note("end \(disturbance)")
            try end(disturbance)
        }
    }

    private func begin(_ disturbance: Disturbance) throws {
        switch disturbance {
        case .cutConsumer: world.cut(consuming: true)
        case .cutPublisher: world.cut(consuming: false)
        case .cutAPNs: world.cut(World.apns)
        case .freezeBroker: freeze(World.broker)
        case .freezeAPNs: freeze(World.apns)
        case .restartBroker:
            world.isBrokerDown = true
            if Bool.random(using: &random) { world.broker.closeAll() } else { world.cut(World.broker) }
        case .alarm: world.broker.setAlarm(true)
        case .cancelConsumers: world.broker.cancelConsumers(of: "push.requests")
        case .refusePublishes:
            for queue in world.broker.queues.values where queue.name != "push.requests" {
                queue.rejectsPublishes = true
            }
        case .holdConfirms: world.broker.holdsConfirms = true
        case .loseDeadLetters: world.broker.delete("push.dead")
        case .loseResults: world.broker.delete("push.results")
        case .loseRetries:
            // The messages of a deleted queue are lost, by its owner's action. One without a majority may get some yet.
            let mayGetSome = world.broker.queues.values.contains(where: \.hasNoMajority)
            if world.parked.isEmpty, !mayGetSome { world.deleteRetryQueues() }
        case .loseMajority:
            let names = world.broker.queues.keys.sorted().filter { $0 != "push.requests" }
            if let name = names.randomElement(using: &random) { world.broker.queues[name]?.hasNoMajority = true }
        case .endAPNsConnections:
            world.apnsConnections.applyFaults([.goaway(.init(reason: "Shutdown"))], at: world.network.now)
        case .moveAPNs:
            world.isAPNsDown = true
            world.cut(World.apns)
        case .reload: try reload()
        case .setClock:
            let error = Int64.random(in: -7200...7200, using: &random)
            checker.note("the clock is \(error) s ahead")
            world.clockError = .seconds(error)
        case .kill: try replaceWorker()
        case .drain:
            drain(within: .seconds(Int.random(in: 0...20, using: &random)))
            try replaceWorker()
        }
    }

    private func replaceWorker() throws {
        checker.processEnds()
        world.kill()
        try world.start()
    }

    private func freeze(_ endpoint: Endpoint) {
        world.network.links.filter { $0.endpoint == endpoint }.randomElement(using: &random)?.isFrozen = true
    }

    private func end(_ disturbance: Disturbance) throws {
        switch disturbance {
        case .restartBroker: world.isBrokerDown = false
        case .alarm: world.broker.setAlarm(false)
        case .refusePublishes: for queue in world.broker.queues.values { queue.rejectsPublishes = false }
        case .holdConfirms:
            world.broker.holdsConfirms = false
            world.releaseConfirms()
        case .loseMajority: for name in world.broker.queues.keys { world.broker.restoreMajority(of: name) }
        case .loseDeadLetters: world.broker.declare("push.dead")
        case .loseResults: world.broker.declare("push.results")
        case .loseRetries: world.declareRetryQueues()
        case .moveAPNs: world.isAPNsDown = false
        case .setClock: world.clockError = .zero
        case .cutConsumer, .cutPublisher, .cutAPNs, .freezeBroker, .freezeAPNs, .cancelConsumers, .endAPNsConnections,
            .reload, .kill, .drain:
            break
        }
    }

    /// No more faults: the run must now finish.
    private func heal() throws {
        checker.note("heal")
        setChances(isOn: false)
        for disturbance in Disturbance.allCases { try end(disturbance) }
        guard hasAPNsTrouble else { return }
        try world.restartAPNs(SimulatedRequest.script)
    }

    /// Another key, or the previous one, for some of the apps; more or fewer connections.
    private func reload() throws {
        let first = world.original.apps
        let connections = Int.random(in: 1...3, using: &random)
        try world.reload { configuration in
            for index in configuration.apps.indices where Bool.random(using: &random) {
                let isOther = Bool.random(using: &random)
                configuration.apps[index].credential = isOther ? world.otherKey : first[index].credential
            }
            if Bool.random(using: &random) { configuration.apns.connections = 1...connections }
            if Bool.random(using: &random) { configuration.apps.reverse() }
        }
    }

    private func drain(within limit: Duration) {
        guard let worker = world.worker else { return }
        checker.note("drain within \(limit)")
        worker.startDrain(deadline: world.network.now + limit)
        if !world.pass(atMost: limit + Worker.closeTimeout, until: { worker.hasEnded }) {
            checker.complain("the drain did not end by its deadline")
        }
    }
}
