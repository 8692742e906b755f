import Core
import SimulatedWorld
import Testing

@testable import Monitoring
@testable import Runtime

@Suite("Watching the workers")
struct WorkerWatchTests {
    private let start = Instant(nanoseconds: 0)

    private func at(_ seconds: Double) -> Instant {
        start + .milliseconds(Int64(seconds * 1000))
    }

    /// Any snapshot, here of an idle worker.
    private func snapshot() throws -> WorkerSnapshot {
        let world = try World.started()
        return try #require(world.worker).snapshot(at: world.moment)
    }

    @Test("A caller waits for every worker's response, and no longer than a second")
    func waiting() throws {
        let snapshot = try snapshot()
        var watch = WorkerWatch(workers: 2, at: start)
        #expect(watch.isComplete(at: start) == false, "no page waits for an answer")
        #expect(watch.want(at: at(1)) == [0, 1])
        watch.responded(1, snapshot, at: at(1.1))
        #expect(watch.isComplete(at: at(1.9)) == false)
        #expect(watch.nextDeadline == at(2))
        #expect(watch.isComplete(at: at(2)) == true)
        #expect(watch.seen(at: at(2)).map { $0.snapshot != nil } == [false, true])
        // The first worker still owes its response.
        #expect(watch.want(at: at(3)) == [1])
        watch.responded(1, snapshot, at: at(3))
        #expect(watch.isComplete(at: at(3)) == false)
        watch.responded(0, snapshot, at: at(3.1))
        #expect(watch.isComplete(at: at(3.1)) == true)
    }

    @Test("A silent worker is asked once, and is stuck after ten seconds until it responds")
    func stuck() throws {
        let snapshot = try snapshot()
        var watch = WorkerWatch(workers: 2, at: start)
        #expect(watch.nextDeadline == at(5))
        #expect(watch.round(at: at(4)).isEmpty)
        #expect(watch.round(at: at(5)) == [0, 1])
        #expect(watch.nextDeadline == at(10))
        watch.responded(1, snapshot, at: at(5))
        #expect(watch.round(at: at(10)) == [1])
        watch.responded(1, snapshot, at: at(10))
        #expect(watch.seen(at: at(14.9)).map(\.isAlive) == [true, true])
        #expect(watch.seen(at: at(15)).map(\.isAlive) == [false, true])
        #expect(watch.round(at: at(15)) == [1])
        #expect(watch.seen(at: at(15)).map(\.silence) == [.seconds(15), .seconds(5)])
        watch.responded(0, snapshot, at: at(16))
        #expect(watch.seen(at: at(16)).map(\.isAlive) == [true, true])
    }

    @Test("A worker that has ended is neither asked nor waited for, and is not stuck")
    func ended() throws {
        var watch = WorkerWatch(workers: 2, at: start)
        #expect(watch.want(at: at(1)) == [0, 1])
        watch.ended(0)
        watch.responded(1, try snapshot(), at: at(1))
        #expect(watch.isComplete(at: at(1)) == true)
        #expect(watch.round(at: at(6)) == [1])
        watch.responded(1, try snapshot(), at: at(6))
        #expect(watch.seen(at: at(60)).map(\.isAlive) == [true, true])
    }
}
