import Core
package import Commands
package import TestSupport

extension World {
    /// Another script, for new connections only, because those that were open are cut.
    package func restartAPNs(_ script: String) throws {
        try setScript(script)
        cut(Self.apns)
    }

    /// Advances time until a run is finished, within a limit.
    ///
    /// - Returns: whether it is.
    package func finish(_ run: any Run, within limit: Duration = .seconds(120)) -> Bool {
        guests = [run]
        defer { guests = [] }
        return pass(atMost: limit) { run.isFinished }
    }
}

extension MemoryNetwork {
    /// Advances time with a run on this network alone.
    ///
    /// - Parameter turn: called after each step; returns whether it did something that no engine shows.
    package func advance(by duration: Duration, _ run: any Run, _ turn: () -> Bool = { false }) {
        advance(by: duration, deadline: { run.isFinished ? nil : run.nextDeadline }) {
            guard !run.isFinished else { return false }
            let before = run.progress
            run.step(at: moment)
            return turn() || run.isFinished || run.progress != before
        }
    }
}
