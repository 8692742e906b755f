import Core
import EventLoop
import Glibc
import Logging
import Synchronization
import Testing

@testable import Bridge

@Suite("Application")
struct ApplicationTests {
    private final class Shared: Sendable {
        let end = Mutex<Result<Application.End, any Error>?>(nil)
    }

    @Test("A worker that never ends is given up after its deadlines, and the process ends all the same")
    func stuckWorker() throws {
        let world = try World()
        var configuration = world.configuration
        configuration.workers = 2
        configuration.drainDeadline = .zero
        let plan = try AppPlan(configuration)
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let (blocking, writing) = (ends[0], ends[1])
        let shared = Shared()
        let start = ContinuousClock.now
        // A thread of its own, whose signals are blocked.
        try Thread.start(name: "application") {
            let result = Result { () throws -> Application.End in
                let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let application = try Application(
                    plan, file: "harebell.yaml", log: log, threshold: LogThreshold(.info)
                ) {}
                return try application.run { task in
                    if task.index == 0 {
                        let events: [WorkerReport.Event] = [
                            .failed(message: "as a test wants it", isConfiguration: false),
                            .ended(PipelineCounters(queues: 1), inOrder: true),
                        ]
                        for event in events { task.reports.post(WorkerReport(worker: 0, event: event)) }
                    } else {
                        var byte: UInt8 = 0
                        _ = unsafe read(blocking, &byte, 1)
                    }
                }
            }
            shared.end.withLock { $0 = result }
        }.join()
        close(writing)
        let end = try #require(shared.end.withLock { $0 }).get()
        #expect(end == .unavailable)
        let elapsed = ContinuousClock.now - start
        #expect(elapsed >= DrainMachine.closeTimeout + Application.endTimeout)
        #expect(elapsed < DrainMachine.closeTimeout + Application.endTimeout + .seconds(20))
    }
}
