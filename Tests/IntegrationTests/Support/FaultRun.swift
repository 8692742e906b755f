import AMQP
import Glibc
import Simulator
import TestSupport
import Testing

/// One load through one or more workers during a fault, and its accounting afterwards.
final class FaultRun {
    static let count = 6000

    /// The published requests.
    struct Load {
        var count = FaultRun.count
        /// Per second.
        var rate = 2000
        /// Changes to some of the requests.
        var change: @Sendable (Int, inout Publication) -> Void = { _, _ in }
        /// Requests without a result, because their reply queue does not exist: they end as dead letters.
        var isUndeliverable: @Sendable (Int) -> Bool = { _ in false }
    }

    let stage: Stage
    let load: Load
    let publisher: LoadPublisher
    /// The processes; a successor takes the place of its predecessor.
    private(set) var workers: [ChildProcess] = []
    private let settings: [Stage.Settings]
    private var conservation: Conservation
    /// Requests that are not part of the load.
    private var extras = 0

    /// Starts the workers, then the load: every other request goes to the quorum queue, the others to the classic one.
    ///
    /// - Parameter settings: one for each process.
    init(_ stage: Stage, _ settings: [Stage.Settings] = [Stage.Settings()], _ load: Load = Load()) throws {
        self.stage = stage
        self.settings = settings
        self.load = load
        for settings in settings { workers.append(try stage.start(settings)) }
        conservation = Conservation(stage.requests, count: load.count)
        let (requests, queues) = (stage.requests, [stage.quorumQueue, stage.classicQueue])
        publisher = try LoadPublisher(stage.url, count: load.count, rate: load.rate) { index in
            var message = requests.message(index, to: queues[index % 2])
            load.change(index, &message)
            return message
        }
    }

    /// The first of them.
    var worker: ChildProcess { workers[0] }

    /// Waits until APNs has accepted a share of the load, so that the next fault hits requests in flight.
    func waitUntilAccepted(_ share: Double) throws {
        let goal = Int(share * Double(load.count))
        try eventually("\(goal) accepted; \(stage.simulator.ledger.statistics); \(worker.report)", within: .seconds(60))
        {
            stage.simulator.ledger.statistics.accepted >= goal ? true : nil
        }
    }

    /// Publishes a request that is not part of the load, and waits for its result in a separate queue. No total
    /// includes it, unless a killed broker redelivers it.
    ///
    /// - Parameter meanwhile: runs when the broker has the request.
    func sendOneMore(_ meanwhile: () throws -> Void) throws {
        let index = load.count + extras
        extras += 1
        let replies = "\(stage.name).extra.\(index)"
        try stage.client.declare(replies)
        var message = stage.requests.message(index, to: stage.quorumQueue)
        message.properties.replyTo = Array(replies.utf8)
        try stage.client.publish([message])
        try meanwhile()
        try stage.client.consume([replies]) { _ in true }
    }

    /// SIGKILL, then another worker.
    func killWorker() throws {
        worker.signal(SIGKILL)
        try worker.waitForExit()
        workers[0] = try stage.start(settings[0])
    }

    /// SIGTERM, then another worker.
    func replaceWorker() throws {
        try worker.end()
        #expect(try Self.total("unsettled", of: worker) == 0)
        workers[0] = try stage.start(settings[0])
    }

    /// Waits until every request is accounted for, ends the workers in order, and collects the queues' messages.
    func finish() throws -> Conservation {
        conservation.repeated = try publisher.finish()
        try collectResponses()
        for worker in workers { try worker.end() }
        for delivery in try stage.client.takeAll(stage.resultQueue) { try conservation.addResult(delivery) }
        for delivery in try stage.client.takeAll(stage.deadLetterQueue) { conservation.addDeadLetter(delivery) }
        for queue in [stage.quorumQueue, stage.classicQueue] {
            for queue in [queue] + stage.retryQueues(of: queue) {
                for delivery in try stage.client.takeAll(queue) { conservation.addQueued(delivery) }
            }
        }
        return conservation
    }

    private func collectResponses() throws {
        let expected = (0..<load.count).count { !load.isUndeliverable($0) }
        do {
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.responded == expected
            }
        } catch {
            throw TestSupportError("\(error); \(conservation.responded) of \(expected) answered; \(worker.report)")
        }
    }

    /// A number from the last log line of each ended worker, such as `uncertain`.
    func totals(_ name: String) throws -> [Int] {
        try workers.map { try Self.total(name, of: $0) }
    }

    func total(_ name: String) throws -> Int {
        try totals(name).reduce(0, +)
    }

    static func total(_ name: String, of worker: ChildProcess) throws -> Int {
        let line = worker.text(.errors).split(separator: "\n").last { $0.contains(" notice ended ") } ?? ""
        let word = line.split(separator: " ").first { $0.hasPrefix("\(name)=") }
        return try #require(word.flatMap { Int($0.dropFirst(name.count + 1)) }, "\(worker.report)")
    }

    /// The permitted cost of a fault.
    struct Limits {
        /// Notifications that reach a device again.
        var duplicatePushes = 0
        /// Results that are published again.
        var duplicateResults = 0
    }

    /// Checks the invariants after a fault, and returns its cost.
    @discardableResult
    func check(
        _ conservation: Conservation, _ fault: String, _ limits: Limits = Limits(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> LedgerRow {
        let pushes = conservation.pushes(stage.simulator.ledger)
        let row = LedgerRow(
            fault: fault,
            numbers: [
                load.count, conservation.results.count, conservation.deadLetters.count, conservation.queued.count,
                conservation.lost.count, pushes.duplicates, conservation.duplicateResults,
            ])
        print(
            """
            ledger: \(row) (at most \(limits.duplicatePushes) and \(limits.duplicateResults)); \
            perhaps published twice \(conservation.repeated.count), sent again \(pushes.repeated)
            """)
        #expect(conservation.lost.isEmpty, "\(fault)", sourceLocation: sourceLocation)
        #expect(conservation.strangers == 0, "\(fault)", sourceLocation: sourceLocation)
        #expect(
            pushes.contradictions == 0, "\(fault): one apns-id through all attempts", sourceLocation: sourceLocation)
        #expect(pushes.duplicates <= limits.duplicatePushes, "\(fault)", sourceLocation: sourceLocation)
        #expect(conservation.duplicateResults <= limits.duplicateResults, "\(fault)", sourceLocation: sourceLocation)
        return row
    }
}
