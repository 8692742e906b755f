import Glibc

/// Runs one benchmark in this process: `benchmarks NAME OPERATIONS`. Without arguments it lists their names.
/// `benchmarks client` is the APNs client alone against a server, see ``ClientRun``.
///
/// What an operation costs is counted from outside, see `deploy/bench` and docs/internals/benchmarks.md.
@main
enum Benchmarks {
    static let all = DecoderBenchmarks.all + MachineBenchmarks.all + EngineBenchmarks.all + WorkerBenchmarks.all

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first else { return all.forEach { print($0.name) } }
        if name == "client" { return try ClientRun.run(arguments.dropFirst()) }
        guard let benchmark = all.first(where: { $0.name == name }), arguments.count == 2,
            let operations = Int(arguments[2]), operations > 0
        else {
            print("usage: benchmarks [NAME OPERATIONS]")
            exit(EX_USAGE)
        }
        let meter = Meter()
        let run = try benchmark.prepare(meter)
        // What is made once, and buffers that grow to their size, belong to no operation.
        try run(operations)
        meter.isCounting = true
        try run(operations)
        // Nanoseconds of CPU and allocations of all operations; the last one is there lest anything be left out.
        print(meter.nanoseconds, meter.allocations, meter.result)
    }
}

struct Benchmark: Sendable {
    let name: String
    /// Makes what is needed, and gives what does so many operations.
    let prepare: @Sendable (Meter) throws -> (_ operations: Int) throws -> Void

    init(_ name: String, prepare: @escaping @Sendable (Meter) throws -> (_ operations: Int) throws -> Void) {
        self.name = name
        self.prepare = prepare
    }
}
