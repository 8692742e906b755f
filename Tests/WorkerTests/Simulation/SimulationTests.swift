import Core
import SimulatedWorld
import TestSupport
import Testing

@Suite("Simulation")
struct SimulationTests {
    private static let isAskedForSeeds = TestEnvironment.simulationSeed != nil || TestEnvironment.simulationRuns != nil

    /// The seeds in parts, for the machine's cores.
    private static var parts: [ClosedRange<UInt64>] {
        let count = UInt64(TestEnvironment.simulationSeeds ?? 200)
        return stride(from: 1, through: count, by: 20).map { $0...min($0 + 19, count) }
    }

    @Test(
        "A worker keeps the invariants between a broker and an APNs with seeded faults",
        .enabled(if: !isAskedForSeeds, "`make sim` asks for seeds"), arguments: parts)
    func laws(seeds: ClosedRange<UInt64>) throws {
        var hours: Int64 = 0
        for seed in seeds { hours += try run(seed) }
        if seeds.count == 20 { #expect(hours >= 100, "200 seeds stand for thousands of hours") }
    }

    @Test("A worker keeps the invariants with the seeds of `make sim`", .enabled(if: isAskedForSeeds))
    func chosenSeeds() throws {
        if let seed = TestEnvironment.simulationSeed {
            try run(seed, tellsAll: true)
            return
        }
        let runs = TestEnvironment.simulationRuns ?? 0
        var hours: Int64 = 0
        for _ in 0..<runs {
            let seed = UInt64.random(in: 0 ... .max / 2)
            print("seed \(seed)")
            hours += try run(seed)
        }
        print("\(runs) seeds, \(hours) virtual hours")
    }

    @Test("A seed always gives the same run")
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

    /// - Parameter tellsAll: prints the whole trace, whatever the result.
    /// - Returns: the simulated hours.
    @discardableResult
    private func run(_ seed: UInt64, tellsAll: Bool = false) throws -> Int64 {
        let simulation = try Simulation(seed: seed)
        let complaints = try simulation.run()
        let trace = simulation.checker.trace
        if tellsAll { print(trace.joined(separator: "\n")) }
        // The first failing seed is enough for a reproduction.
        let last = tellsAll || complaints.isEmpty ? "" : "\n" + trace.suffix(120).joined(separator: "\n")
        try #require(complaints.isEmpty, "`make sim SEED=\(seed)`: \(complaints.joined(separator: "\n"))\(last)")
        return (simulation.world.network.now - World.start.instant).components.seconds / 3600
    }
}
