import Core
import TestSupport
import Testing

@Suite("Simulation")
struct SimulationTests {
    @Test("A worker keeps the laws between a broker and an APNs with faults from a seed")
    func laws() throws {
        if let seed = TestEnvironment.simulationSeed {
            try run(seed, tellsAll: true)
            return
        }
        if let runs = TestEnvironment.simulationRuns {
            var hours: Int64 = 0
            for _ in 0..<runs {
                let seed = UInt64.random(in: 0 ... .max / 2)
                print("seed \(seed)")
                hours += try run(seed)
            }
            return print("\(runs) seeds, \(hours) virtual hours")
        }
        var hours: Int64 = 0
        let seeds = TestEnvironment.simulationSeeds ?? 200
        for seed in 1...UInt64(seeds) { hours += try run(seed) }
        if seeds == 200 { #expect(hours >= 2000, "the seeds stand for thousands of hours") }
    }

    @Test("A seed stands for one course of things")
    func repetition() throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            let traces = try (0..<2).map { _ in
                let simulation = try Simulation(seed: seed)
                _ = try simulation.run()
                return simulation.checker.trace
            }
            #expect(traces[0] == traces[1], "seed \(seed)")
        }
    }

    /// - Parameter tellsAll: prints the whole trace, whatever becomes of the run.
    /// - Returns: how many hours passed in it.
    @discardableResult
    private func run(_ seed: UInt64, tellsAll: Bool = false) throws -> Int64 {
        let simulation = try Simulation(seed: seed)
        let complaints = try simulation.run()
        let trace = simulation.checker.trace
        if tellsAll { print(trace.joined(separator: "\n")) }
        if !complaints.isEmpty {
            let last = tellsAll ? "" : "\n" + trace.suffix(120).joined(separator: "\n")
            Issue.record("`make sim SEED=\(seed)`: \(complaints.joined(separator: "\n"))\(last)")
        }
        return (simulation.world.network.now - World.start.instant).components.seconds / 3600
    }
}
