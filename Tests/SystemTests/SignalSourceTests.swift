import Core
import Glibc
import Synchronization
import Testing

@testable import System

@Suite("Signals")
struct SignalSourceTests {
    @Test("reach the loop as events")
    func delivery() throws {
        final class Shared: Sendable {
            let signals = Mutex<[Int32]>([])
            let error = Mutex<String?>(nil)
        }
        let shared = Shared()
        // Runs on a separate thread, so that only it gets the signal.
        try Thread.start(name: "signals") {
            do {
                let fixture = try LoopFixture()
                var seen: [Int32] = []
                _ = try SignalSource(loop: fixture.loop, signals: [SIGUSR1, SIGUSR2]) { seen.append($0) }
                pthread_kill(pthread_self(), SIGUSR2)
                try fixture.run { seen.count == 1 }
                pthread_kill(pthread_self(), SIGUSR1)
                pthread_kill(pthread_self(), SIGUSR1)
                try fixture.run { seen.count == 2 }
                let signals = seen
                shared.signals.withLock { $0 = signals }
            } catch {
                let text = "\(error)"
                shared.error.withLock { $0 = text }
            }
        }.join()
        #expect(shared.error.withLock { $0 } == nil)
        #expect(shared.signals.withLock { $0 } == [SIGUSR2, SIGUSR1])
    }
}
