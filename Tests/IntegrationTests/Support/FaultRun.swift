import AMQP
import Core
import Glibc
import Simulator
import TestSupport
import Testing

/// One load through a worker, or several, while something goes wrong, and what is left of it afterwards.
final class FaultRun {
    static let count = 6000
    static let rate = 2000

    let stage: Stage
    private let publisher: LoadPublisher
    private(set) var worker: ChildProcess
    /// Processes beside the first one.
    private var others: [ChildProcess] = []
    private let settings: Stage.Settings
    private var conservation: Conservation

    /// Starts the workers, then the load: every other request goes to the quorum queue, the others to the classic one.
    init(_ stage: Stage, _ settings: Stage.Settings = Stage.Settings(), processes: Int = 1) throws {
        self.stage = stage
        self.settings = settings
        worker = try stage.start(settings)
        for _ in 1..<processes { others.append(try stage.start(settings)) }
        conservation = Conservation(stage.requests, count: Self.count)
        let (requests, queues) = (stage.requests, [stage.quorumQueue, stage.classicQueue])
        publisher = try LoadPublisher(stage.url, count: Self.count, rate: Self.rate) { index in
            requests.message(index, to: queues[index % 2])
        }
    }

    /// Waits until APNs has accepted a share of the load: then the next fault has something to hit.
    func waitUntilAccepted(_ share: Double) throws {
        let goal = Int(share * Double(Self.count))
        try eventually("\(goal) accepted; \(stage.simulator.ledger.statistics); \(worker.report)", within: .seconds(60))
        {
            stage.simulator.ledger.statistics.accepted >= goal ? true : nil
        }
    }

    /// SIGKILL, then another worker.
    func killWorker() throws {
        worker.signal(SIGKILL)
        try worker.waitForExit()
        worker = try stage.start(settings)
    }

    /// SIGTERM, then another worker.
    func replaceWorker() throws {
        try end(worker)
        #expect(try total("unsettled") == 0)
        worker = try stage.start(settings)
    }

    private func end(_ worker: ChildProcess) throws {
        worker.signal(SIGTERM)
        let exit = try worker.waitForExit(within: .seconds(60))
        #expect(exit == .exited(0), "\(worker.report)")
    }

    /// Waits until every request is accounted for, ends the workers in order, and collects what lies in the queues.
    func finish() throws -> Conservation {
        conservation.repeated = try publisher.finish()
        try collectAnswers()
        for worker in [worker] + others { try end(worker) }
        for delivery in try stage.client.takeAll(stage.resultQueue) { try conservation.addResult(delivery) }
        for delivery in try stage.client.takeAll(stage.deadLetterQueue) { conservation.addDeadLetter(delivery) }
        for queue in [stage.quorumQueue, stage.classicQueue] {
            for delivery in try stage.client.takeAll(queue) { conservation.addQueued(delivery) }
        }
        return conservation
    }

    private func collectAnswers() throws {
        do {
            try stage.client.consume([stage.resultQueue]) { delivery in
                try conservation.addResult(delivery)
                return conservation.answered == Self.count
            }
        } catch {
            throw TestSupportError("\(error); \(conservation.answered) answered; \(worker.report)")
        }
    }

    /// A number of the last line of a worker that has ended, such as `uncertain`: of the first, or of each.
    func total(_ name: String) throws -> Int {
        try Self.total(name, of: worker)
    }

    func totals(_ name: String) throws -> [Int] {
        try ([worker] + others).map { try Self.total(name, of: $0) }
    }

    static func total(_ name: String, of worker: ChildProcess) throws -> Int {
        let line = worker.text(.errors).split(separator: "\n").last { $0.contains(" notice ended ") } ?? ""
        let word = line.split(separator: " ").first { $0.hasPrefix("\(name)=") }
        return try #require(word.flatMap { Int($0.dropFirst(name.count + 1)) }, "\(worker.report)")
    }

    /// Checks what holds after every fault, and says what the fault cost.
    ///
    /// - Parameters:
    ///   - duplicatePushes: how many notifications may reach a device twice.
    ///   - duplicateResults: how many results may come twice.
    func check(
        _ conservation: Conservation, _ fault: String, duplicatePushes: Int, duplicateResults: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let pushes = conservation.pushes(stage.simulator.ledger)
        print(
            """
            ledger: \(fault): \(Self.count) published (\(conservation.repeated.count) perhaps twice), \
            results \(conservation.results.count), dead letters \(conservation.deadLetters.count), \
            queued \(conservation.queued.count), lost \(conservation.lost.count); \
            duplicate pushes \(pushes.duplicates) (at most \(duplicatePushes)), \
            duplicate results \(conservation.duplicateResults) (at most \(duplicateResults)); \
            sent again \(pushes.repeated)
            """)
        #expect(conservation.lost.isEmpty, sourceLocation: sourceLocation)
        #expect(conservation.strangers == 0, sourceLocation: sourceLocation)
        #expect(pushes.contradictions == 0, "one apns-id through all attempts", sourceLocation: sourceLocation)
        #expect(pushes.duplicates <= duplicatePushes, sourceLocation: sourceLocation)
        #expect(conservation.duplicateResults <= duplicateResults, sourceLocation: sourceLocation)
    }
}
