import Core
import TestSupport
import Testing

@Suite("Simulation")
struct SimulationTests {
    /// How many runs there are; each is a seed of its own.
    private static let runs = 200

    @Test("A worker keeps the laws between a broker and an APNs with faults from a seed")
    func laws() throws {
        if let seed = TestEnvironment.simulationSeed { return try run(seed, traced: .max) }
        let runs = TestEnvironment.simulationRuns ?? Self.runs
        let first = UInt64.random(in: 0 ... .max / 2)
        for seed in first..<first + UInt64(runs) { try run(seed, traced: 120) }
    }

    /// - Parameter lines: how much of the trace is told where the run fails.
    private func run(_ seed: UInt64, traced lines: Int) throws {
        let simulation = try Simulation(seed: seed)
        let complaints = try simulation.run()
        guard !complaints.isEmpty else { return }
        let trace = simulation.checker.trace.suffix(lines).joined(separator: "\n")
        Issue.record("HAREBELL_SIMULATION_SEED=\(seed): \(complaints.joined(separator: "\n"))\n\(trace)")
    }
}
