import APNs
import Core
import TestSupport
import Testing

@Suite("ConnectionTrial")
struct ConnectionTrialTests {
    private func ready() -> ConnectionTrial {
        var trial = ConnectionTrial()
        trial.becameReady(at: .seconds(10))
        return trial
    }

    @Test("The first response is a success, the hundredth is proof, and later ones change nothing")
    func responses() {
        var trial = ready()
        #expect(trial.isUseless(at: .seconds(11)))
        let progress = (0..<102).map { _ in trial.responded(at: .seconds(11)) }
        #expect(progress.first == .firstResponse && progress[99] == .proven)
        #expect(progress.filter { $0 == .none }.count == 100)
        #expect(!trial.isUseless(at: .seconds(11)) && trial.provenAt == nil)
    }

    @Test("A minute is proof, with a response or without")
    func life() {
        var trial = ready()
        #expect(trial.provenAt == .seconds(70))
        #expect(trial.isUseless(at: .seconds(69.999)) && !trial.isUseless(at: .seconds(70)))
        var responded = trial
        let byResponse = responded.responded(at: .seconds(70))
        #expect(byResponse == .proven)
        trial.provenByAge()
        let afterwards = trial.responded(at: .seconds(70))
        #expect(trial.provenAt == nil && afterwards == .none)
    }

    @Test("An early end counts once, and not for a connection that has lasted or is proven")
    func ends() {
        var trial = ready()
        let ends = [trial.peerClosed(at: .seconds(20)), trial.peerClosed(at: .seconds(21))]
        #expect(ends == [true, false] && !trial.isEndCounted)
        trial.countEnd()
        let response = trial.responded(at: .seconds(22))
        #expect(trial.isEndCounted && response == .firstResponse, "what was sent before is still answered")

        var old = ready()
        var proven = ready()
        proven.provenByAge()
        var never = ConnectionTrial()
        #expect(never.provenAt == nil && never.isUseless(at: .seconds(500)))
        let others = [
            old.peerClosed(at: .seconds(70)), proven.peerClosed(at: .seconds(20)), never.peerClosed(at: .seconds(500)),
        ]
        #expect(others == [false, false, true])
    }
}
