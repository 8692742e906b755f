import Core
import Glibc
import System
import Testing

@testable import Commands

@Suite("LoopRunner")
struct LoopRunnerTests {
    /// Records its calls.
    private final class Diary: Run {
        var nextDeadline: Instant?
        private(set) var isFinished = false
        private(set) var steps: [Instant] = []
        private(set) var wasStopped = false
        private let onStep: (Diary) -> Void

        init(onStep: @escaping (Diary) -> Void) {
            self.onStep = onStep
        }

        func step(at now: Moment) {
            steps.append(now.instant)
            onStep(self)
        }

        func stop(at now: Moment) {
            wasStopped = true
            finish()
        }

        func finish() {
            (isFinished, nextDeadline) = (true, nil)
        }
    }

    /// Runs on a separate thread: it blocks signals there, and only this thread gets those sent to it.
    private func onThread(_ body: @escaping @Sendable () throws -> Void) throws {
        let failure = Guarded<String?>(nil)
        _ = try Thread.start(name: "runner") {
            do { try body() } catch { failure.withLock { $0 = "\(error)" } }
        }.join(until: .distantFuture)
        #expect(failure.withLock { $0 } == nil)
    }

    @Test("A run steps at once and when its deadline has passed, until it is finished")
    func deadline() throws {
        try onThread {
            let runner = try LoopRunner()
            let due = runner.now + .milliseconds(30)
            let diary = Diary { diary in
                if diary.steps[diary.steps.count - 1] >= due { diary.finish() } else { diary.nextDeadline = due }
            }
            try runner.run(diary)
            #expect(diary.isFinished && !diary.wasStopped)
            #expect(diary.steps.count >= 2 && diary.steps.dropLast().allSatisfy { $0 < due })
        }
    }

    @Test("With an interval it also steps when nothing is due")
    func interval() throws {
        try onThread {
            let diary = Diary { if $0.steps.count == 3 { $0.finish() } }
            try LoopRunner().run(diary, showing: ProgressBar(isWanted: false))
            #expect(zip(diary.steps, diary.steps.dropFirst()).allSatisfy { $1 - $0 >= ProgressBar.interval })
            #expect(BrokerProgress.patience + ProgressBar.interval < .milliseconds(2700))
        }
    }

    @Test("SIGINT and SIGTERM stop it", arguments: [SIGINT, SIGTERM])
    func signal(_ signal: Int32) throws {
        try onThread {
            let diary = Diary { if $0.steps.count == 1 { pthread_kill(pthread_self(), signal) } }
            try LoopRunner().run(diary)
            #expect(diary.isFinished && diary.wasStopped)
        }
    }
}
