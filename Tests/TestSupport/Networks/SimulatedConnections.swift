package import Core
package import Simulator

/// The connections of a simulator, for faults on all of them at once.
package final class SimulatedConnections {
    private struct WeakEngine {
        weak var engine: SimulatorEngine?
    }

    private var entries: [WeakEngine] = []

    package init() {}

    /// Keeps a weak reference, because the connection owns its engine.
    package func add(_ engine: SimulatorEngine) {
        entries.removeAll { $0.engine == nil }
        entries.append(WeakEngine(engine: engine))
    }

    /// Applies actions to all open connections, as if their scripts contained them.
    ///
    /// - Parameter actions: those that need no request: GOAWAY, cut, settings.
    package func applyFaults(_ actions: [ScriptAction], at now: Instant) {
        for entry in entries { entry.engine?.perform(actions, at: now) }
    }
}
