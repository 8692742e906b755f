import Core
import Glibc
import Testing

@testable import System

@Suite("Signals")
struct SignalSourceTests {
    @Test("reach the loop as events")
    func delivery() throws {
        // Runs on a separate thread, so that only it gets the signal.
        let signals = try Thread.run("signals") {
            let fixture = try LoopFixture()
            var seen: [Int32] = []
            _ = try SignalSource(loop: fixture.loop, signals: [SIGUSR1, SIGUSR2]) { seen.append($0) }
            pthread_kill(pthread_self(), SIGUSR2)
            try fixture.run { seen.count == 1 }
            pthread_kill(pthread_self(), SIGUSR1)
            pthread_kill(pthread_self(), SIGUSR1)
            try fixture.run { seen.count == 2 }
            return seen
        }
        #expect(signals == [SIGUSR2, SIGUSR1])
    }
}
