import Foundation
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Memory")
    struct MemoryTests {
        /// How much of the code of a process is resident, in KiB: its own, and that of its libraries.
        private static func residentCode(of process: ChildProcess) throws -> (own: Int, libraries: Int) {
            let folder = "/proc/\(process.processID)"
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/exe")
            // The kernel gives it piece by piece, and `FileManager` takes the first one for all.
            let file = try #require(FileHandle(forReadingAtPath: "\(folder)/smaps"))
            let text = String(decoding: try #require(try file.readToEnd()), as: UTF8.self)
            let lines = text.split(separator: "\n")
            var sizes = (own: 0, libraries: 0)
            for start in lines.indices where lines[start].contains(" r-xp ") && lines[start].contains("/") {
                let line = try #require(lines[start...].first { $0.hasPrefix("Rss:") })
                let size = try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
                if lines[start].hasSuffix(program) { sizes.own += size } else { sizes.libraries += size }
            }
            return sizes
        }

        @Test(
            "a worker's memory comes from jemalloc, with the options that the program has for it, before which the environment's go"
        )
        func allocator() throws {
            let stage = try Stage()
            for (options, arenas) in [("stats_print:true", 1), ("stats_print:true,narenas:3", 3)] {
                let worker = try stage.launch(environment: ["MALLOC_CONF": options])
                try worker.waitForLine("ready")
                worker.signal(SIGTERM)
                try worker.waitForLine(.errors) { $0.hasSuffix("opt.narenas: \(arenas)") }
                #expect(try worker.waitForExit() == .exited(0), "\(worker.report)")
            }
            try stage.removeQueues()
        }

        // How much of the code is mapped again with each place that runs is the kernel's choice: sixteen pages, or as much as its
        // cache of the file holds in one piece. So the numbers are compared generously, and not after a reload, which needs more.
        @Test("a worker that is ready has unmapped the code that only reading its configuration needed, and works on")
        func code() throws {
            let stage = try Stage()
            let worker = try stage.start()
            // The same program, which unmaps nothing, and reads less.
            let simulator = try ChildProcess(stage.binary, ["simulate", "--port", "0"])
            try simulator.waitForLine("ready")
            let mapped = try Self.residentCode(of: simulator)
            let ready = try Self.residentCode(of: worker)
            print("code: \(ready) KiB when ready, \(mapped) where none is unmapped")
            #expect(ready.own < mapped.own * 3 / 4)
            #expect(ready.libraries < mapped.libraries * 3 / 4)
            worker.signal(SIGHUP)
            try worker.waitForLine(.errors) { $0.contains("reloaded") }
            let load = try ChildProcess(
                stage.binary,
                [
                    "load", "--config", stage.directory.file("harebell.yaml"), "--queue", stage.quorumQueue, "--count",
                    "20",
                ])
            #expect(try load.waitForExit() == .exited(0), "\(load.report)")
            for process in [worker, simulator] {
                process.signal(SIGTERM)
                #expect(try process.waitForExit() == .exited(0), "\(process.report)")
            }
            try stage.removeQueues()
        }
    }
}
