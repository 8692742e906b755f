import AMQP
import Core
import SimulatedWorld
import TestSupport

@testable import Commands

/// An in-memory broker with dead letters, and runs over them on virtual time.
final class DeadLetterWorld {
    static let dead = DeadLetterSamples.queue
    static let target = "push.requests"
    /// In the configuration, but not on the broker.
    static let missing = "gone"

    let broker = Broker()
    let network: MemoryNetwork
    let reader: RequestReader
    /// The number of client connections so far.
    private(set) var connects = 0

    init() throws {
        network = MemoryNetwork { _ in nil }
        reader = RequestReader(try World.configuration { _ in })
        broker.declare(Self.dead)
        broker.declare(Self.target)
        network.accept = { [unowned self] _ in
            connects += 1
            return BrokerEngine(broker: broker)
        }
    }

    /// Puts a worker's dead letters into the queue, numbered in their message ids.
    func put(_ range: Range<Int>, _ edit: (Int, inout FieldTable) -> Void = { _, _ in }) throws {
        for index in range {
            var properties = MessageProperties()
            properties.messageID = Array("m-\(index)".utf8)
            var headers = DeadLetterSamples.ours
            edit(index, &headers)
            properties.headers = headers
            try broker.put(Array("\(index)".utf8), properties: properties, into: Self.dead)
        }
    }

    /// Likewise, with another text in one header of the chosen ones.
    func put(_ range: Range<Int>, _ name: String, _ text: String, where isChosen: (Int) -> Bool) throws {
        try put(range) { index, headers in
            if isChosen(index) { headers[name] = .string(text) }
        }
    }

    /// The number in the body of a message.
    static func number(_ body: some Collection<UInt8>) -> Int { Int(String(decoding: body, as: UTF8.self)) ?? -1 }

    /// The numbers of the messages in a queue, in order.
    func numbers(_ queue: String) -> [Int] { broker.messages(in: queue).map { Self.number($0.body) } }

    func run(
        _ action: DeadLetterRun.Action = .replay(to: { [target, missing].contains($0) ? $0 : nil }), id: String = "run",
        _ edit: (inout DeadLetterRun.Settings) -> Void = { _ in }
    ) -> DeadLetterRun {
        var settings = DeadLetterRun.Settings(queue: Self.dead)
        edit(&settings)
        return DeadLetterRun(
            action, settings, reader: reader, id: id, at: network.now, connect: network.brokerConnection)
    }

    /// A run at its end.
    func ended(
        _ action: DeadLetterRun.Action = .replay(to: { [target, missing].contains($0) ? $0 : nil }), id: String = "run",
        _ edit: (inout DeadLetterRun.Settings) -> Void = { _ in }
    ) -> DeadLetterRun {
        let run = run(action, id: id, edit)
        finish(run)
        return run
    }

    /// Advances time until the run is over.
    func finish(_ run: DeadLetterRun, within limit: Duration = .seconds(3600), each: () -> Void = {}) {
        advance(by: limit, run, each)
    }

    func advance(by duration: Duration, _ run: DeadLetterRun, _ each: () -> Void = {}) {
        var last = (run.tally, run.end)
        network.advance(by: duration, run) {
            each()
            defer { last = (run.tally, run.end) }
            return (run.tally, run.end) != last
        }
    }

    /// Reads to the end.
    func scan(
        _ edit: (inout DeadLetterRun.Settings) -> Void = { _ in }, visit: @escaping (Delivery, DeadLetter) -> Void
    ) -> DeadLetterRun {
        let scan = run(.read(visit), edit)
        finish(scan, within: .seconds(120))
        return scan
    }
}

extension DeadLetterRun {
    /// Why it failed; `nil` unless it did.
    var failure: String? { if case .failed(let reason) = end { reason } else { nil } }
}
