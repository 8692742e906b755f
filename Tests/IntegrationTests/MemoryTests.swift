import Foundation
import TestSupport
import Testing

extension ProcessTests {
    @Suite("Memory")
    struct MemoryTests {
        /// How much of the code of a process is resident, in KiB.
        private static func residentCode(of process: ChildProcess) throws -> Int {
            let folder = "/proc/\(process.processID)"
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/exe")
            let text = String(
                decoding: try #require(FileManager.default.contents(atPath: "\(folder)/smaps")), as: UTF8.self)
            let lines = text.split(separator: "\n")
            let start = try #require(lines.firstIndex { $0.contains(" r-xp ") && $0.hasSuffix(program) })
            let line = try #require(lines[start...].first { $0.hasPrefix("Rss:") })
            return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        }

        /// A variable of a process' environment, as it began.
        private static func variable(_ name: String, of process: ChildProcess) throws -> String? {
            let environment = try #require(
                FileManager.default.contents(atPath: "/proc/\(process.processID)/environ"))
            return String(decoding: environment, as: UTF8.self).split(separator: "\0")
                .first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
        }

        @Test("a worker runs with the allocator's caches that it needs, or with those that its environment names")
        func caches() throws {
            let stage = try Stage()
            for (environment, expected) in [
                ([:], "glibc.malloc.tcache_count=512"),
                (["GLIBC_TUNABLES": "glibc.malloc.tcache_count=9"], "glibc.malloc.tcache_count=9"),
            ] {
                let worker = try stage.launch(environment: environment)
                try worker.waitForLine("ready")
                #expect(try Self.variable("GLIBC_TUNABLES", of: worker) == expected)
                worker.signal(SIGTERM)
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
            #expect(ready < mapped * 3 / 4)
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
