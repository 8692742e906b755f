import Glibc

/// Runs one benchmark in this process: `benchmarks NAME OPERATIONS`. Without arguments it lists their names.
///
/// Costs are counted from outside, see `Tests/Tools/bench` and docs/internals/benchmarks.md.
@main
enum Benchmarks {
    static let all = DecoderBenchmarks.all + MachineBenchmarks.all + EngineBenchmarks.all + WorkerBenchmarks.all

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else { return all.forEach { print($0.name) } }
        guard let benchmark = all.first(where: { $0.name == name }), arguments.count == 2,
            let operations = Int(arguments[2]), operations > 0
        else {
            print("usage: benchmarks [NAME OPERATIONS]")
            exit(EX_USAGE)
        }
        let meter = Meter()
        let run = try benchmark.prepare(meter)
        // One-time setup and growing buffers are not part of an operation.
        try run(operations)
        meter.isCounting = true
        try run(operations)
        // Nanoseconds of CPU and allocations of all operations; the result is printed so that it is not optimized away.
        print(meter.nanoseconds, meter.allocations, meter.result)
    }
}

struct Benchmark: Sendable {
    let name: String
    /// Prepares, and returns a closure that runs the given number of operations.
    let prepare: @Sendable (Meter) throws -> (_ operations: Int) throws -> Void

    init(_ name: String, prepare: @escaping @Sendable (Meter) throws -> (_ operations: Int) throws -> Void) {
        self.name = name
        self.prepare = prepare
    }
}
