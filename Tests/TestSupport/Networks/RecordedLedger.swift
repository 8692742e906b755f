package import Core
package import Simulator

/// The ledger of one or more simulators with every request, so that tests can find lost and duplicate ones.
package final class RecordedLedger: SimulatorObserver, Sendable {
    private struct State {
        var records: [SimulatorLedger.Record] = []
        var times: [WallTime] = []
        var failures: [String] = []
    }

    /// The simulators' own.
    package let counts: SimulatorLedger
    private let state = Guarded(State())

    package init(_ counts: SimulatorLedger = SimulatorLedger()) {
        self.counts = counts
    }

    /// Records what this simulator does from now on.
    package convenience init(observing context: SimulatorContext) {
        self.init(context.ledger)
        context.observer = self
    }

    package var statistics: SimulatorStatistics { counts.statistics }

    /// In the order in which they ended.
    package var records: [SimulatorLedger.Record] { state.withLock { $0.records } }

    /// When each record ended.
    package var times: [WallTime] { state.withLock { $0.times } }

    /// Why connections failed, one sentence each.
    package var failures: [String] { state.withLock { $0.failures } }

    package func timesSeen(_ id: NotificationID) -> Int { counts.timesSeen(id) }

    package func ended(_ record: SimulatorLedger.Record, at time: WallTime) {
        state.withLock {
            $0.records.append(record)
            $0.times.append(time)
        }
    }

    package func failed(connection: Int, _ error: any Error) {
        state.withLock { $0.failures.append("connection \(connection): \(error)") }
    }
}
