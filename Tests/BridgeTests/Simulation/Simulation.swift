import AMQP
import Core
import Simulator
import TestSupport

@testable import Bridge

/// One run of a worker between a broker and an APNs that both have bad days, all of it drawn from one number.
final class Simulation {
    /// What can happen besides the faults that strike by chance.
    enum Disturbance: CaseIterable {
        case cutConsumer, cutPublisher, cutAPNs, freezeBroker, freezeAPNs
        case restartBroker, alarm, cancelConsumers, refusePublishes, holdConfirms, loseDeadLetters, loseResults
        case endAPNsConnections, moveAPNs, reload
        case kill, drain

        var isAtBroker: Bool {
            switch self {
            case .cutConsumer, .cutPublisher, .freezeBroker, .restartBroker, .alarm, .cancelConsumers, .refusePublishes,
                .holdConfirms, .loseDeadLetters, .loseResults:
                true
            case .cutAPNs, .freezeAPNs, .endAPNsConnections, .moveAPNs, .reload, .kill, .drain: false
            }
        }
    }

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
    private let script: String
    private let hasAPNsTrouble: Bool
    private let hasBrokerTrouble: Bool
    private var lossless = true

    /// How long faults may begin; what lasts ends within as long again.
    private static let trouble = Duration.seconds(30)

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        hasAPNsTrouble = Bool.random(using: &random)
        hasBrokerTrouble = Bool.random(using: &random)
        script = SimulatedRequest.script + (hasAPNsTrouble ? Self.script(&random) : "")
        let prefetch = UInt16.random(in: 1...20, using: &random)
        let permits = Int.random(in: 20...200, using: &random)
        let burst = Int.random(in: 1...20, using: &random)
        let connections = Int.random(in: 1...3, using: &random)
        world = try World(seed: seed, script: script) { configuration in
            configuration.queues[0].prefetch = prefetch
            configuration.apns.permitsPerSecond = permits
            configuration.apns.burst = burst
            configuration.apns.connections = 1...connections
            configuration.apns.requestTimeout = .seconds(5)
        }
        checker = Checker(world)
        world.network.latency = .milliseconds(Int.random(in: 0...40, using: &random))
        world.network.largestPiece = [.max, .max, 1000, 37].randomElement(using: &random) ?? .max
        self.random = random
        plan()
    }

    // MARK: The plan

    /// APNs tells no lies: no GOAWAY leaves out what was answered before it.
    private static func script(_ random: inout SplitMix64) -> String {
        let lines = [
            "chance 4%: rst REFUSED_STREAM", "chance 3%: rst INTERNAL_ERROR", "chance 3%: cut", "chance 4%: silence",
            "chance 4%: goaway Shutdown", "chance 4%: goaway Shutdown last=before",
            "chance 3%: goaway last=before close=now",
            "chance 3%: goaway Shutdown announced=300ms", "chance 2%: goaway code=ENHANCE_YOUR_CALM last=this",
            "chance 5%: 503 ServiceUnavailable", "chance 5%: 500 InternalServerError", "chance 5%: 429 TooManyRequests",
            "chance 3%: 503 Shutdown", "chance 3%: 403 ExpiredProviderToken", "chance 30%: delay 10ms..3s",
            "topic com.example.other, first 3 requests: 403 TopicMismatch",
            "topic com.example.app, first 2 requests: 403 InvalidProviderToken", "connect: settings streams=2",
            "operation create, chance 20%: cut", "operation create, chance 20%: rst INTERNAL_ERROR",
            "operation create, chance 20%: delay 5s", "operation create, chance 20%: 503 ServiceUnavailable",
            "operation create, chance 20%: goaway last=before",
            "after 5s: goaway", "after 4 requests: goaway Shutdown last=this", "idle 3s: goaway IdleTimeout",
        ]
        return lines.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }.joined(separator: "\n")
    }

    private func plan() {
        for number in 0..<Int.random(in: 10...40, using: &random) {
            let kind =
                Bool.random(using: &random)
                ? .good : SimulatedRequest.Kind.allCases.randomElement(using: &random) ?? .good
            add(.publish(SimulatedRequest(number: number, kind: kind, random: &random)), within: .zero...Self.trouble)
        }
        for disturbance in Disturbance.allCases {
            guard disturbance.isAtBroker ? hasBrokerTrouble : hasAPNsTrouble else { continue }
            for _ in 0..<Int.random(in: 0...3, using: &random) where Bool.random(using: &random) {
                used.insert(disturbance)
                let start = add(.begin(disturbance), within: .zero...Self.trouble)
                add(.end(disturbance), within: start...start + Self.trouble)
            }
        }
        steps.sort { $0.at < $1.at }
    }

    @discardableResult
    private func add(_ step: Step, within range: ClosedRange<Duration>) -> Duration {
        let at = Duration.nanoseconds(
            Int64.random(in: range.lowerBound.nanoseconds...range.upperBound.nanoseconds, using: &random))
        steps.append((at, step))
        return at
    }

    // MARK: The run

    /// - Returns: What was wrong; nothing if all laws were kept.
    func run() throws -> [String] {
        let limit = Int(world.configuration.queues[0].prefetch)
        // A connection whose end the broker has not seen, or a consumer that it has ended, holds deliveries of its own.
        let isBounded = used.isDisjoint(with: [.freezeBroker, .cancelConsumers, .kill, .drain])
        world.check = { [unowned self] in checker.step(mayHold: isBounded ? limit : 1000) }
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
        try heal()
        if !world.pass(atMost: .seconds(3600), until: { world.isQuiet }) {
            checker.complain("an hour after the last fault not everything is finished: \(counters)")
        }
        // Acknowledgements that are under way.
        world.pass(.seconds(1))
        checker.conserved()
        checker.end(
            .init(
                apnsTrouble: hasAPNsTrouble, publisherTrouble: hasBrokerTrouble || hasAPNsTrouble,
                missingQueues: !used.isDisjoint(with: [.loseDeadLetters, .loseResults])))
        drain(within: .seconds(10))
        return checker.complaints
    }

    private var counters: String {
        "\(world.broker.messages(in: "push.requests").count) queued, \(world.broker.unsettledCount) held by connections, "
            + "\(world.worker.map { "\($0.counters)" } ?? "no worker")"
    }

    private func setChances(isOn: Bool) {
        func chance() -> Double { isOn && Bool.random(using: &random) ? 0.005 : 0 }
        for (endpoint, hasTrouble) in [(World.broker, hasBrokerTrouble), (World.apns, hasAPNsTrouble)] {
            var faults = MemoryNetwork.Faults()
            if hasTrouble {
                faults.cut = chance()
                faults.refusal = chance() * 40
            }
            world.network.faults[endpoint] = faults
        }
    }

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
        case .endAPNsConnections: world.apns.disturb([.goaway(.init(reason: "Shutdown"))], at: world.network.now)
        case .moveAPNs:
            world.isAPNsDown = true
            world.cut(World.apns)
        case .reload: try reload()
        case .kill:
            world.kill()
            try world.start()
        case .drain:
            drain(within: .seconds(Int.random(in: 0...20, using: &random)))
            world.kill()
            try world.start()
        }
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
            for engine in world.broker.engines {
                if let last = engine.heldConfirms.max() { engine.releaseConfirms(last, multiple: true) }
            }
        case .loseDeadLetters: world.broker.declare("push.dead")
        case .loseResults: world.broker.declare("push.results")
        case .moveAPNs: world.isAPNsDown = false
        case .cutConsumer, .cutPublisher, .cutAPNs, .freezeBroker, .freezeAPNs, .cancelConsumers, .endAPNsConnections,
            .reload, .kill, .drain:
            break
        }
    }

    /// No more faults: what follows has to come to an end.
    private func heal() throws {
        checker.note("heal")
        setChances(isOn: false)
        for disturbance in Disturbance.allCases { try end(disturbance) }
        guard hasAPNsTrouble else { return }
        try world.setScript(SimulatedRequest.script)
        world.cut(World.apns)
    }

    /// Another key, or the one from before, for some of the apps; more or fewer connections.
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
        if !world.pass(atMost: limit + DrainMachine.closeTimeout, until: { worker.hasEnded }) {
            checker.complain("the drain did not end by its deadline")
        }
    }
}
